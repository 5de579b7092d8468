"""Arrays in pools of processes, however these are started; and in joblib's."""

import importlib.util
import multiprocessing
import subprocess
import sys

import pytest

PROGRAM = '''
import sys
from concurrent.futures import ProcessPoolExecutor
import multiprocessing, os
import stridewise as sw


def double(x):
    y = x * 2
    return y, float(sw.sum(y)), os.getpid()


class Loader:
    """As loaders of training data do it: workers that take indices from a queue, and put batches into another."""

    def __init__(self, context, data):
        self.indices, self.batches = context.Queue(), context.Queue()
        self.workers = [context.Process(target=self.work, args=(data, self.indices, self.batches)) for _ in range(2)]

    @staticmethod
    def work(data, indices, batches):
        while (index := indices.get()) is not None:
            batches.put((index, sw.sin(data[index * 10 : index * 10 + 10])))

    def __iter__(self):
        for worker in self.workers:
            worker.start()
        for index in range(10):
            self.indices.put(index)
        found = dict(self.batches.get(timeout=60) for _ in range(10))
        for worker in self.workers:
            self.indices.put(None)
        for worker in self.workers:
            worker.join()
            assert worker.exitcode == 0
        return iter(found[index] for index in range(10))


if __name__ == "__main__":
    method, kind = sys.argv[1:]
    context = multiprocessing.get_context(method)
    x = sw.arange(100000, dtype="float64", usm_type=kind)
    # Work in this process, too, before and while there are others.
    expected = float(sw.sum(x)) * 2
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        for y, total, process in pool.map(double, [x, x[::-1], x + 0]):
            assert total == expected and process != os.getpid()
            assert y.usm_type == kind and y.flags.writable and float(sw.sum(y)) == total
    batches = list(Loader(context, x))
    assert float(sw.max(sw.abs(sw.concat(batches) - sw.sin(x[:100])))) == 0
    print("right")
'''


def run(path, *arguments):
    done = subprocess.run([sys.executable, path, *arguments], capture_output=True, text=True, timeout=240)
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stdout + done.stderr


@pytest.mark.parametrize("kind", ["shared", "device"])
@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_pools_and_queues(tmp_path, method, kind):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    run(path, method, kind)


@pytest.mark.skipif(importlib.util.find_spec("joblib") is None, reason="joblib is not installed")
@pytest.mark.parametrize("backend", ["loky", "multiprocessing", "threading"])
def test_joblib(tmp_path, backend):
    path = tmp_path / "program.py"
    path.write_text(f'''
import joblib
import stridewise as sw


def part(x, k):
    return sw.sum(x[k::4]) + k, x * k


if __name__ == "__main__":
    x = sw.arange(1 << 18, dtype="float64", usm_type="shared")
    with joblib.parallel_backend("{backend}", n_jobs=2):
        results = joblib.Parallel()(joblib.delayed(part)(x, k) for k in range(4))
    assert sum(float(total) for total, _ in results) == float(sw.sum(x)) + 6
    assert all(bool(sw.all(y == x * k)) for k, (_, y) in enumerate(results))
    joblib.dump(results, r"{tmp_path}/results")
    assert float(joblib.load(r"{tmp_path}/results")[2][1][3]) == 6
    print("right")
''')
    run(path)
