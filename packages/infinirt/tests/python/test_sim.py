"""The simulated accelerator: memory out of the host's reach, delays, faults, counts, limits."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest

import infini.rt as rt

Run = Callable[..., subprocess.CompletedProcess[str]]


def test_every_host_access_ends_the_process_also_while_a_worker_writes(run_python: Run) -> None:
    done = run_python(
        """
        import ctypes, os, signal
        import infini.rt as rt

        died = 0
        for attempt in range(1000):
            child = os.fork()
            if child == 0:
                rt.select_backend("sim")
                data = rt.malloc(4096)
                if attempt % 2:
                    for value in range(200):
                        rt.memset_async(data, value % 256, 4096)
                if attempt % 3 == 0:
                    ctypes.memset(data + attempt, 1, 1)
                else:
                    ctypes.string_at(data + attempt, 1)
                os._exit(0)
            _, status = os.waitpid(child, 0)
            deadly = (signal.SIGSEGV, signal.SIGBUS)
            died += os.WIFSIGNALED(status) and os.WTERMSIG(status) in deadly
        print(died)
        """,
        timeout=120,
    )
    assert done.stdout.strip() == "1000", done.stderr


def test_forked_child_of_a_user_is_refused_at_once(run_python: Run) -> None:
    done = run_python(
        """
        import os
        import infini.rt as rt

        rt.select_backend("sim")
        rt.free(rt.malloc(16))
        child = os.fork()
        if child == 0:
            assert rt.device_count() == 2
            allocate = lambda: rt.malloc(1)
            for call in (allocate, rt.device_synchronize, rt.stream_create, rt.current_stream):
                try:
                    call()
                except RuntimeError as error:
                    assert "'spawn'" in str(error), error
                else:
                    os._exit(1)
            rt.select_backend("cpu")
            rt.free(rt.malloc(16))
            os._exit(0)
        print(os.waitpid(child, 0)[1])
        rt.free(rt.malloc(16))
        """,
        timeout=30,
    )
    assert done.stdout.strip() == "0", done.stderr


def test_daemon_threads_inside_the_runtime_do_not_disturb_the_exit(run_python: Run) -> None:
    for _ in range(5):
        done = run_python(
            """
            import threading, time
            import infini.rt as rt

            def loop():
                rt.select_backend("sim")
                stream = rt.stream_create()
                while True:
                    rt.launch_host(stream, rt.testing.SLEEP, (1000).to_bytes(8, "little"))
                    rt.stream_synchronize(stream)

            for _ in range(4):
                threading.Thread(target=loop, daemon=True).start()
            time.sleep(0.1)
            """,
            timeout=30,
        )
        assert (done.returncode, done.stderr) == (0, "")


def test_queued_python_callbacks_run_before_the_interpreter_ends(run_python: Run) -> None:
    done = run_python(
        """
        import atexit

        runs = []
        atexit.register(lambda: print(len(runs)))  # registered first, so called last

        import ctypes
        import infini.rt as rt

        rt.select_backend("sim")
        rt.sim.set_task_delay(1000)
        callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(runs.append)
        address = ctypes.cast(callback, ctypes.c_void_p).value
        for _ in range(100):
            rt.launch_host(rt.Stream(), address)
        rt.set_device(1)
        stream = rt.stream_create()
        rt.stream_begin_capture(stream)
        rt.launch_host(stream, address)
        graph = rt.graph_instantiate(rt.stream_end_capture(stream))
        rt.graph_launch(graph, stream)
        rt.launch_host(stream, rt.testing.FAIL)
        """,
        timeout=30,
    )
    assert (done.returncode, done.stdout) == (0, "101\n")
    assert done.stderr.splitlines()[-1] == "RuntimeError: the host task failed"
    assert "host tasks of the device sim:1" in done.stderr


def test_destroying_an_event_lets_callbacks_run(run_python: Run) -> None:
    done = run_python(
        """
        import ctypes, threading, time
        import infini.rt as rt

        rt.select_backend("sim")
        stream, event = rt.stream_create(), rt.event_create()
        callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda arguments: None)
        rt.launch_host(stream, rt.testing.SLEEP, (200_000).to_bytes(8, "little"))
        rt.launch_host(stream, ctypes.cast(callback, ctypes.c_void_p).value)
        rt.event_record(event, stream)

        def wait():
            rt.select_backend("sim")
            rt.event_synchronize(event)

        waiter = threading.Thread(target=wait)
        waiter.start()
        time.sleep(0.05)
        rt.event_destroy(event)
        waiter.join()
        rt.stream_destroy(stream)
        print("done")
        """,
        timeout=30,
    )
    assert done.stdout.strip() == "done", done.stderr


def test_settings_made_before_the_first_call_stay(run_python: Run) -> None:
    done = run_python(
        """
        import infini.rt as rt
        rt.select_backend("sim")
        rt.sim.set_task_delay(3000)
        rt.sim.set_fault_plan("")
        start, end = rt.event_create(), rt.event_create()
        rt.event_record(start)
        rt.event_record(end)
        rt.event_synchronize(end)
        print(rt.event_elapsed_time(start, end) >= 2.9)
        """,
        INFINI_RT_SIM_FAULT="event_create:1",
    )
    assert done.stdout.strip() == "True", done.stderr


def test_fault_plan_from_the_environment(run_python: Run) -> None:
    done = run_python(
        """
        import infini.rt as rt
        rt.select_backend("sim")
        first = rt.malloc(16)
        for _ in range(2):
            try:
                print(rt.malloc(16) != 0)
            except MemoryError as error:
                print(error)
        """,
        INFINI_RT_SIM_FAULT="malloc:2",
    )
    lines = done.stdout.splitlines()
    assert lines[0].startswith("Malloc on sim: this call fails because the fault plan says so")
    assert lines[1] == "True"


def test_bad_fault_plan_in_the_environment_is_an_error(run_python: Run) -> None:
    done = run_python(
        "import infini.rt as rt; rt.select_backend('sim'); rt.malloc(1)",
        INFINI_RT_SIM_FAULT="mallok:1",
    )
    assert done.returncode == 1
    assert 'no runtime function is named "mallok"' in done.stderr


@pytest.mark.parametrize("plan", ["malloc", "malloc:0", "malloc:x", "mallok:1", "malloc:1;free:2"])
def test_bad_fault_plan_is_refused(sim: None, plan: str) -> None:
    with pytest.raises(ValueError, match="cannot read fault plan"):
        rt.sim.set_fault_plan(plan)
    rt.free(rt.malloc(16))


def test_call_counts(sim: None) -> None:
    before = rt.sim.call_counts()
    rt.free(rt.malloc(16))
    after = rt.sim.call_counts()
    assert {name for name in after if after[name] != before[name]} == {"malloc", "free"}
    assert set(after) == set(rt.sim.fault_points())


def test_task_delay(sim: None) -> None:
    with pytest.raises(ValueError, match="-5 microseconds"):
        rt.sim.set_task_delay(-5)
    rt.sim.set_task_delay(2000)
    start, end = rt.event_create(), rt.event_create()
    rt.event_record(start)
    rt.event_record(end)
    rt.event_synchronize(end)
    assert rt.event_elapsed_time(start, end) >= 1.9


def test_memory_limit_is_kept(run_python: Run) -> None:
    done = run_python(
        """
        import infini.rt as rt
        rt.select_backend("sim")
        print(rt.get_memory_info().total)
        data = rt.malloc(1 << 20)
        try:
            rt.malloc(1)
        except MemoryError as error:
            print(error)
        rt.free(data)
        rt.free(rt.malloc(1 << 20))
        """,
        INFINI_RT_SIM_MEMORY=str(1 << 20),
    )
    assert done.stdout.splitlines() == ["1048576", "Malloc on sim:0: could not allocate 1 bytes"], (
        done.stderr
    )


def test_freed_memory_is_given_back(sim: None) -> None:
    before = rt.get_memory_info().free
    for _ in range(500):
        first, second = rt.malloc(1000), rt.malloc(200_000)
        rt.memset(second, 1, 200_000)
        rt.free(first)
        rt.free(second)
    assert rt.get_memory_info().free == before
