"""What all tests share: no test fails because a machine is slow."""

from hypothesis import HealthCheck, settings

settings.register_profile("attnspec", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("attnspec")
