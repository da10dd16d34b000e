import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

class Kernel(base.Attention):
    page_size = 1

    def placed(self):
        allowed = super().placed()
        if self.window is not None and self.window[0] is not None and self.Sq:
            last = int(self.offset()[0]) + self.Sq - 1
            first_page = max(0, last - self.window[0]) // self.page_size
            allowed[..., : first_page * self.page_size] = False
        return allowed


class Pages(base.PagedHeadsFirst):
    def prepare(self, sequences, rest):
        self.kernel = type("Kernel", (Kernel,), {"page_size": self.page_size})


layout = "paged_heads_first"
dtypes = base.DTYPES
scaled_dot_product_attention = base.paged(Pages)
