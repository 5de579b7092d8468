"""Devices, contexts, queues, events, timers, placement; threads and processes."""

import asyncio
import copy
import os
import pickle
import re
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import stridewise as sw


def run(code, **options):
    """Runs a program of its own; returns what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120, **options
    )
    assert done.returncode == 0, f"status {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


class TestDevice:
    def test_attributes(self):
        for device in sw.get_devices():
            assert sw.Device(device.filter_string) == device == sw.Device(device)
            assert device.backend in device.filter_string and device.device_type in ("cpu", "gpu", "accelerator")
            assert [device.is_cpu, device.is_gpu, device.is_accelerator].count(True) == 1
            assert device.name and isinstance(device.vendor, str) and isinstance(device.driver_version, str)
            assert device.max_compute_units >= 1 and device.global_mem_size > 0 < device.max_mem_alloc_size
            assert device.local_mem_size > 0 and device.max_work_group_size >= 1 and device.global_mem_cache_size >= 0
            assert set(device.aspects) <= set(sw.aspects)
            for aspect in sw.aspects:
                assert device.has_aspect(aspect) == (aspect in device.aspects)
            for short in ("fp16", "fp64", "atomic64", "queue_profiling", "usm_shared_allocations"):
                assert getattr(device, f"has_aspect_{short}") == device.has_aspect(short)
            assert device.parent_device is None and device.sycl_device == device
            assert device.queue == device.queue == device.sycl_queue and device.queue.sycl_device == device
            assert device.queue.sycl_context == device.default_context
            assert pickle.loads(pickle.dumps(device)) == device and hash(device) == hash(sw.Device(str(device)))
            assert device.filter_string in device.describe() and device.name in device.describe()
            assert isinstance(device.usm_support("shared"), str)
            device.wait()
        with pytest.raises(ValueError, match="fp99"):
            sw.Device().has_aspect("fp99")

    def test_topology(self):
        topology = sw.Device("host").topology
        assert set(topology) == {"source", "cpus", "numa_nodes", "caches"}
        assert all(level >= 1 and size > 0 for level, size, _ in topology["caches"])

    def test_selection(self):
        assert sw.Device() == sw.select_default_device()
        assert sw.Device("host") == sw.select_host_device() == sw.Device("host:cpu:0") == sw.Device("nothing,host")
        assert sw.select_cpu_device().is_cpu
        assert sw.select_device_with_aspects(["fp64"]).has_aspect_fp64
        assert sw.select_device_with_aspects("host_debuggable").backend == "host"
        with pytest.raises(sw.DeviceSelectionError):
            sw.select_device_with_aspects("fp64", excluded_aspects=["fp64"])
        with pytest.raises(ValueError):
            sw.select_device_with_aspects("no such")
        assert sw.get_num_devices() == len(sw.get_devices()) >= 1
        assert sw.get_devices(backend="host") == [sw.Device("host")]
        assert sw.get_devices(backend="none") == []
        assert all(device.is_gpu for device in sw.get_devices(device_type="gpu"))
        with pytest.raises(ValueError):
            sw.get_devices(device_type="cpus")
        if sw.get_num_devices(device_type="gpu") == 0:
            with pytest.raises(sw.DeviceSelectionError):
                sw.select_gpu_device()

    @pytest.mark.parametrize("text", ["", "nothing", "host:gpu", "host:cpu:99", ":", "host:cpu:0:0"])
    def test_wrong_filters_are_named(self, text):
        with pytest.raises(sw.DeviceSelectionError, match="host:cpu:0"):
            sw.Device(text)

    @pytest.mark.parametrize("wrong", [3, 1.5, object(), ["host"]])
    def test_what_is_no_device(self, wrong):
        with pytest.raises(TypeError, match="device"):
            sw.Device(wrong)

    def test_sub_devices(self):
        host = sw.Device("host")
        units = host.max_compute_units
        parts = host.create_sub_devices(1)
        assert len(parts) == units and all(part.max_compute_units == 1 for part in parts)
        assert all(part.parent_device == host for part in parts) and len(set(parts)) == units
        [whole] = host.create_sub_devices([units])
        assert whole.max_compute_units == units and whole != host
        a = sw.asarray([1.0, 2.0], device=parts[0])
        assert a.sycl_device == parts[0] and (a + a).sycl_queue == a.sycl_queue
        for wrong in (0, units + 1, [], [units, units]):
            with pytest.raises(sw.DeviceSelectionError):
                host.create_sub_devices(wrong)
        with pytest.raises(ValueError):
            host.create_sub_devices("sockets")
        for wrong in (1.5, None, ["numa"]):
            with pytest.raises(TypeError):
                host.create_sub_devices(wrong)
        with pytest.raises(TypeError, match="pickled"):
            pickle.dumps(parts[0])
        for domain in ("numa", "L3_cache", "L1_cache", "next_partitionable"):
            try:
                assert len(host.create_sub_devices(domain)) > 1
            except sw.DeviceSelectionError:
                pass

    def test_the_variable_names_the_default_device(self):
        environment = os.environ | {"STRIDEWISE_DEVICE": "host:scalar"}
        out = run("import stridewise as sw; print(sw.select_default_device())", env=environment)
        assert out.strip() == "host:scalar"


class TestContextAndQueue:
    def test_context(self):
        device = sw.Device("host")
        context = sw.Context(device)
        assert context.devices == [device] == context.get_devices() and context.device_count == 1
        assert context != sw.Context("host") and context == context and context.backend == "host"
        assert device.default_context == device.default_context != context
        assert context.queue() == context.queue(device)
        queue = sw.Queue(context, device)
        assert queue.sycl_context == context and queue != context.queue()
        with pytest.raises(ValueError):
            sw.Context([])
        with pytest.raises(TypeError):
            sw.Context(3)

    def test_constructor_forms(self):
        device = sw.Device("host")
        assert sw.Queue() != sw.Queue() and sw.Queue().sycl_device == sw.select_default_device()
        assert sw.Queue("host").sycl_device == sw.Queue(device).sycl_device == device == sw.Queue(device=device).device
        assert sw.Queue(sw.Queue("host")).sycl_device == device
        plain = sw.Queue(device)
        assert not plain.is_in_order and not plain.has_enable_profiling
        for queue in (
            sw.Queue(device, "in_order"),
            sw.Queue(device, property="in_order"),
            sw.Queue(device, in_order=True),
            sw.Queue("in_order"),
        ):
            assert queue.is_in_order and not queue.has_enable_profiling
        for both in (("in_order", "enable_profiling"), ["enable_profiling", "in_order"]):
            queue = sw.Queue(device.default_context, device, both)
            assert queue.is_in_order and queue.has_enable_profiling
        assert queue.backend == "host" and len({queue, queue, plain}) == 2

    def test_wrong_arguments(self):
        device = sw.Device("host")
        with pytest.raises(ValueError, match="inorder"):
            sw.Queue(device, property="inorder")
        with pytest.raises(TypeError):
            sw.Queue(device, "in_order", property="in_order")
        with pytest.raises(TypeError):
            sw.Queue(device, device)
        with pytest.raises(TypeError):
            sw.Queue(3)
        with pytest.raises(sw.DeviceSelectionError):
            sw.Queue("nothing")
        with pytest.raises(sw.DeviceSelectionError):
            sw.Queue(device.default_context, "host:scalar")

    def test_get_execution_queue(self):
        a, b = sw.Queue(), sw.Queue()
        assert sw.get_execution_queue([a, a, a]) == a
        assert sw.get_execution_queue((a, b)) is None and sw.get_execution_queue([]) is None
        for wrong in ([a, 3], 3, None):
            with pytest.raises(TypeError):
                sw.get_execution_queue(wrong)


@pytest.fixture(params=["host", "opencl:cpu", "gpu"])
def queue(request):
    try:
        return sw.Queue(request.param, profiling=True)
    except sw.DeviceSelectionError as error:
        pytest.skip(str(error))


def memory(queue, nbytes, kind="Device"):
    return getattr(sw, f"MemoryUSM{kind}")(nbytes, queue=queue)


class TestWork:
    def test_copies_depend_on_events(self, queue):
        size = 1 << 20
        a, b, c = (memory(queue, size) for _ in range(3))
        first = queue.memset(a, 1)
        second = queue.memcpy(b, a, depends=[first])
        third = queue.memcpy_async(c, b, size // 2, depends=(second, first))
        last = queue.fill(c, 2.5, count=4, dtype="f8", depends=third)
        assert isinstance(last, sw.Event)
        last.wait()
        assert all(event.is_done for event in (first, second, third)) and last.status == "complete"
        out = np.frombuffer(c.tobytes(), dtype="u1")
        assert out[:32].view("f8").tolist() == [2.5] * 4 and (out[32 : size // 2] == 1).all()

    def test_copies_to_and_from_the_host(self, queue):
        m = memory(queue, 100)
        queue.memcpy(m, bytes(range(100)))
        out = bytearray(50)
        queue.memcpy(out, m).wait()
        assert out == bytes(range(50))
        queue.memcpy(out, b"x" * 10, 10)
        assert out[:11] == b"x" * 10 + b"\n"
        with pytest.raises(BufferError):
            queue.memcpy(bytes(10), m)
        with pytest.raises(sw.OutOfBoundsError):
            queue.memcpy(out, m, 51)

    def test_copies_of_arrays(self, queue):
        a = sw.usm_ndarray((4, 6), dtype="i4", buffer_ctor_kwargs={"queue": queue})
        queue.memcpy(a, np.arange(24, dtype="i4"))
        b = sw.usm_ndarray((24,), dtype="i4", buffer_ctor_kwargs={"queue": queue})
        queue.memcpy(b, a)
        out = np.zeros(24, dtype="i4")
        queue.memcpy(out, b)
        assert out.tolist() == list(range(24))
        queue.fill(a[1], -1).wait()
        queue.memcpy(out, a)
        assert out.tolist() == list(range(6)) + [-1] * 6 + list(range(12, 24))
        with pytest.raises(ValueError, match="contiguous"):
            queue.memcpy(a[:, 1], out)

    def test_fill_converts_as_an_assignment_does(self, queue):
        a = sw.usm_ndarray((3,), dtype="i4", buffer_ctor_kwargs={"queue": queue})
        for number, stored in [(2.75, 2), (True, 1), (np.int16(-7), -7), (np.float64(3.5), 3)]:
            queue.fill(a, number).wait()
            assert a.tolist() == [stored] * 3

    def test_wrong_arguments(self, queue):
        a, b = memory(queue, 10), memory(queue, 20)
        for wrong in (3, None, "text"):
            with pytest.raises(TypeError):
                queue.memcpy(a, wrong)
        with pytest.raises(TypeError, match="depends"):
            queue.memcpy(a, b, depends=[3])
        with pytest.raises(TypeError, match="depends"):
            queue.memcpy(a, b, depends=3)
        with pytest.raises(sw.OutOfBoundsError):
            queue.memcpy(a, b, 11)
        with pytest.raises(sw.OutOfBoundsError):
            queue.fill(a, 1, count=3, dtype="f4")
        with pytest.raises(TypeError):
            queue.fill(a, "text")
        for wrong in (300, -1, 1 << 70, 1 << 200, 1j):
            with pytest.raises(TypeError):
                queue.fill(a, wrong)
        with pytest.raises(TypeError):
            queue.fill(bytearray(10), 1)
        with pytest.raises((OverflowError, TypeError)):
            queue.memset(a, 300)
        with pytest.raises(sw.OutOfBoundsError):
            queue.prefetch(a, 11)
        with pytest.raises(ValueError, match="sequential"):
            queue.mem_advise(a, 0, "sometimes")

    def test_hints_change_nothing_and_are_ordered(self, queue):
        for kind in ("Device", "Shared", "Host"):
            m = memory(queue, 1 << 22, kind)
            first = queue.memset(m, 5)
            events = [queue.prefetch(m, depends=[first]), queue.prefetch(m, 4097)]
            events += [queue.mem_advise(m, 0, advice, depends=first) for advice in (0, "default", "sequential", "random")]
            sw.Event.wait_for(events)
            assert first.is_done and set(m.tobytes()) == {5}
        a = sw.usm_ndarray((10,), dtype="f8", buffer_ctor_kwargs={"queue": queue})
        queue.prefetch(a).wait()

    def test_prefetch_gives_pages_their_memory(self):
        if not sys.platform.startswith("linux"):
            pytest.skip("reads Linux's account of this process's pages")
        from peers import resident_bytes

        queue = sw.Queue("host")
        size = 256 << 20
        m = memory(queue, size)
        queue.device.trim_pool()
        before = resident_bytes()
        queue.prefetch(m, size // 2).wait()
        grown = resident_bytes() - before
        if grown < size // 8:
            pytest.skip("this kernel has no MADV_POPULATE_WRITE")
        assert size // 4 < grown < size * 3 // 4
        del m
        queue.device.trim_pool()

    def test_events_are_awaited(self, queue):
        async def several():
            events = [queue.memset(memory(queue, 1 << 22), k) for k in range(8)]
            beats = 0

            async def beat():
                nonlocal beats
                while True:
                    beats += 1
                    await asyncio.sleep(0)

            beating = asyncio.create_task(beat())
            assert await asyncio.gather(*map(awaited, events)) == [None] * 8
            beating.cancel()
            assert all(event.is_done for event in events) and beats > 0
            await sw.Event()

        async def awaited(event):
            return await event

        asyncio.run(several())
        with pytest.raises(RuntimeError, match="no running event loop"):
            sw.Event().__await__()

    def test_events(self, queue):
        done = sw.Event()
        assert done.status == "complete" == done.execution_status and done.is_done and done.error is None
        done.wait()
        event = queue.memset(memory(queue, 1 << 20), 1)
        event.wait()
        assert event.profiling_info_submit <= event.profiling_info_start <= event.profiling_info_end
        barrier = queue.submit_barrier([event])
        barrier.wait()
        assert queue.submit_barrier().get_wait_list() == [] and "Event" in repr(barrier)
        sw.Event.wait_for([event, barrier])
        sw.Event.wait_for(event)
        with pytest.raises(TypeError):
            sw.Event.wait_for([event, 3])
        plain = sw.Queue(queue.device)
        event = plain.memset(memory(plain, 8), 1)
        event.wait()
        with pytest.raises(NotImplementedError, match="profiling"):
            event.profiling_info_end

    def test_barrier_waits_for_everything(self, queue):
        parts = [memory(queue, 1 << 20) for _ in range(8)]
        events = [queue.memset(part, 1) for part in parts]
        queue.submit_barrier().wait()
        assert all(event.is_done for event in events)
        queue.flush()
        queue.wait()

    def test_timer(self, queue):
        timer = sw.Timer()
        m = memory(queue, 32 << 20)
        for _ in range(2):
            with timer(queue):
                queue.memset(m, 1)
                time.sleep(0.01)
        host, device = timer.dt
        assert host >= 0.02 and 0 < device and timer.dt.host_dt == host and timer.dt.device_dt == device
        milliseconds = sw.Timer(time_scale=1e3)
        with milliseconds(queue):
            time.sleep(0.01)
        assert milliseconds.dt.host_dt >= 10 and len(milliseconds.dt) == 2
        assert sw.Timer().dt.host_dt == 0
        with pytest.raises(ValueError, match="profiling"):
            timer(sw.Queue(queue.device))
        with pytest.raises(TypeError):
            timer(3)
        with pytest.raises(TypeError):
            with sw.Timer():
                pass
        with pytest.raises(ZeroDivisionError):
            with timer(queue):
                1 / 0

    def test_threads_that_ask_a_timer_get_the_same_sum(self, queue):
        m = memory(queue, 1 << 20)
        for _ in range(20):
            timer, found = sw.Timer(), []
            for _ in range(10):
                with timer(queue):
                    queue.memset(m, 1)
            threads = [threading.Thread(target=lambda: found.append(tuple(timer.dt))) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert len(found) == 4 and len(set(found)) == 1

    def test_the_lock_of_the_interpreter_is_free_while_work_is_waited_for(self):
        queue = sw.Queue("host")
        a, b = memory(queue, 512 << 20), memory(queue, 512 << 20)
        queue.memset(a, 1).wait()
        ticks = []
        stop = threading.Event()

        def tick():
            while not stop.is_set():
                ticks.append(time.perf_counter())
                time.sleep(0.0005)

        thread = threading.Thread(target=tick)
        thread.start()
        begin = time.perf_counter()
        for _ in range(4):
            b.copy_from_device(a)
            queue.memcpy(b, a).wait()
            queue.wait()
        end = time.perf_counter()
        stop.set()
        thread.join()
        # With the lock held, the other thread could not have run between a call's begin and end.
        assert sum(begin < t < end for t in ticks) >= 8


class TestPlacement:
    def test_queues_do_not_mix(self):
        a = sw.asarray([1.0, 2.0], sycl_queue=sw.Queue("host"))
        b = sw.asarray([1.0, 2.0], sycl_queue=sw.Queue("host"))
        with pytest.raises(sw.ExecutionPlacementError, match="queue"):
            a + b
        assert (a + a).sycl_queue == a.sycl_queue


class TestProcess:
    def test_end_with_work_pending(self):
        for unfinished in ("", "sw.Event.wait_for(events[:1])"):
            out = run(f"""
                import stridewise as sw
                queue = sw.Queue("host")
                parts = [sw.MemoryUSMDevice(64 << 20, queue=queue) for _ in range(6)]
                events = [queue.memset(part, 1) for part in parts]
                events += [queue.memcpy(parts[0], part) for part in parts[1:]]
                a = sw.asarray([1.0] * 1000, sycl_queue=queue)
                b = a + a
                {unfinished}
                print("end")
            """)
            assert out == "end\n"

    def test_end_with_threads_that_wait(self):
        out = run("""
            import threading
            import stridewise as sw
            queue = sw.Queue("host")
            part = sw.MemoryUSMDevice(256 << 20, queue=queue)
            def work():
                while True:
                    queue.memset(part, 1).wait()
            threading.Thread(target=work, daemon=True).start()
            queue.memset(part, 2).wait()
            print("end")
        """)
        assert out == "end\n"

    @pytest.mark.parametrize("method", ["spawn", "forkserver"])
    def test_multiprocessing(self, method, tmp_path):
        program = tmp_path / "program.py"
        program.write_text(textwrap.dedent(f"""
            import multiprocessing
            import stridewise as sw

            def work(m):
                m.memset(7)
                return m

            if __name__ == "__main__":
                sw.MemoryUSMShared(32 << 20).memset(1)
                context = multiprocessing.get_context("{method}")
                with context.Pool(2) as pool:
                    parts = pool.map(work, [sw.MemoryUSMShared(1 << 20) for _ in range(4)])
                print(all(set(part.tobytes()) == {{7}} for part in parts))
        """))
        done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=120)
        assert done.stdout == "True\n", done.stderr

    def test_import_is_light(self):
        out = run("""
            import sys
            import stridewise
            print([name for name in ("numpy", "dpctl", "dpnp") if name in sys.modules])
        """)
        assert out == "[]\n"


class TestListing:
    def listed(self, *arguments):
        return subprocess.run(
            [sys.executable, "-m", "stridewise", *arguments], capture_output=True, text=True, timeout=60
        )

    def test_list(self):
        for arguments in ((), ("-l",), ("--list",)):
            lines = self.listed(*arguments).stdout.splitlines()
            assert len(lines) == sw.get_num_devices()
            assert sum(line.startswith("*") for line in lines) == 1
            for line, device in zip(lines, sw.get_devices()):
                assert device.filter_string in line and device.name in line

    def test_full_list(self):
        def lasting(text):
            # The memory of a virtual machine, and with it PoCL's, may grow between one process and the next.
            return re.sub(r"(?m)^(    (?:Memory|Largest allocation) +)[\d.]+ \w+$", r"\1…", text)

        out = lasting(self.listed("-f").stdout)
        assert out.count("…") == 2 * sw.get_num_devices()
        for device in sw.get_devices():
            assert lasting(device.describe()) in out

    def test_others(self):
        assert "host: 1 device, version" in self.listed("-s").stdout
        assert sw.__version__ in self.listed("--version").stdout
        assert self.listed("-F", "host").stdout.count("\n") == 1
        wrong = self.listed("-F", "nothing")
        assert wrong.returncode == 1 and "nothing" in wrong.stderr
        assert self.listed("-f", "-l").returncode == 2


def test_copies_of_what_there_is_one_of():
    device = sw.Device("host")
    queue = sw.Queue(device)
    for one in (device, queue, sw.Context(device), queue.submit_barrier(), device.create_sub_devices([1])[0]):
        assert copy.copy(one) is one and copy.deepcopy(one) is one
