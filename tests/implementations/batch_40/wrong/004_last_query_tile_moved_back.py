import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Kernel):
    def query_tiles(self, s):
        for start in range(0, s.Sq, self.rows):
            numbers = np.arange(start, start + self.rows)
            if start and start + self.rows > s.Sq:  # the last tile is full, too: it begins earlier
                yield np.arange(s.Sq - self.rows, s.Sq), numbers
            else:
                numbers = numbers[numbers < s.Sq]
                yield numbers, numbers


scaled_dot_product_attention = base.operation(Mine)
