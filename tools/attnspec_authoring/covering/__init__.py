"""Tables of cases in which every two levels of two factors meet: how their rows are made, kept and looked at."""
