"""Site of attnspec: spec, cases, mistakes and results as static pages, which open from disk and load nothing.

``attnspec site DIR`` builds it from a checkout; it is no part of the wheel.
"""
