"""Calls of a pool that take long: other threads run meanwhile, Ctrl-C and tokens end them, forks leave them behind."""

import asyncio
import json
import os
import subprocess
import sys
import textwrap
import threading
import time

import damacy
import numpy as np
import pytest
from damacy import BatchSpec, Cancel, Document, PlannerPool, RefusalKind, TenantLimits

HUGE = 1 << 50
# Nothing ends a call of these tests but what is tested.
ENDLESS = TenantLimits(deadline_s=300, max_wait_s=300, input_bytes=HUGE, arrays=HUGE, memory_bytes=1 << 30)
SPEC, NOTHING = BatchSpec(1, (1,)), np.zeros((0, 1, 2), np.int64)
FIELDS = {"zarr_format": 2, "shape": [1], "chunks": [1], "dtype": "<u2", "order": "C", "compressor": None, "filters": None}
SMALL = Document(json.dumps({**FIELDS, "fill_value": 0}).encode(), 2)
# A megabyte of attributes.
LARGE = Document(json.dumps({**FIELDS, "fill_value": 0, "attributes": ["x" * 1000] * 1000}).encode(), 2)
# A minute of parsing, in the memory of one document.
MANY = {f"{at}": LARGE for at in range(20_000)}


def long_call(tenant):
    return tenant.validate(SPEC, MANY, NOTHING, array_of=[])


@pytest.fixture
def pool():
    with PlannerPool(ENDLESS) as pool:
        yield pool


def wait_for(what):
    end = time.monotonic() + 60
    while not what():
        assert time.monotonic() < end
        time.sleep(0.005)


def running(pool, name):
    return lambda: (metrics := pool.metrics(name)) is not None and metrics.running == 1


class Calling(threading.Thread):
    """A long call on a thread of its own, and what became of it."""

    def __init__(self, tenant):
        super().__init__(daemon=True)
        self.tenant, self.raised = tenant, None
        self.start()

    def run(self):
        try:
            long_call(self.tenant)
        except damacy.PoolError as error:
            self.raised = error

    def ended(self):
        self.join(60)
        assert not self.is_alive()
        return self.raised


def test_a_token_cancels_running_waiting_and_later_calls(pool):
    token, other = Cancel(), Cancel()
    runs = Calling(pool.tenant("alice", cancel=token))
    wait_for(running(pool, "alice"))
    waits = Calling(pool.tenant("alice", cancel=token))
    wait_for(lambda: pool.metrics("alice").waiting == 1)
    stays = Calling(pool.tenant("bob", cancel=other))
    token.cancel()
    for call in (runs, waits):
        error = call.ended()
        assert error.kind is RefusalKind.CANCELLED and isinstance(error, damacy.ShutdownError)
    with pytest.raises(damacy.PoolError) as caught:
        pool.tenant("alice", cancel=token).parse_metadata(SMALL)
    assert caught.value.kind is RefusalKind.CANCELLED and token.cancelled
    assert pool.tenant("alice").parse_metadata(SMALL).info.shape == (1,)
    assert stays.is_alive() and not other.cancelled
    other.cancel()
    assert stays.ended().kind is RefusalKind.CANCELLED


def test_closing_ends_calls(pool):
    runs = Calling(pool.tenant("alice"))
    wait_for(running(pool, "alice"))
    waits = Calling(pool.tenant("alice"))
    wait_for(lambda: pool.metrics("alice").waiting == 1)
    pool.close()
    assert {runs.ended().kind, waits.ended().kind} == {RefusalKind.CLOSED}


def test_a_deadline_and_a_queue_end_calls(pool):
    pool.set_limits("short", TenantLimits(deadline_s=0.03, input_bytes=HUGE, arrays=HUGE, waiting=1, max_wait_s=0.02))
    with pytest.raises(damacy.BudgetExceeded) as caught:
        long_call(pool.tenant("short"))
    assert (caught.value.kind, caught.value.limit) == (RefusalKind.DEADLINE, 30_000_000)
    pool.set_limits("short", TenantLimits(deadline_s=300, input_bytes=HUGE, arrays=HUGE, waiting=0, max_wait_s=0.02))
    token = Cancel()
    runs = Calling(pool.tenant("short", cancel=token))
    wait_for(running(pool, "short"))
    with pytest.raises(damacy.TryAgain) as caught:
        pool.tenant("short").parse_metadata(SMALL)
    assert (caught.value.kind, caught.value.limit) == (RefusalKind.WAITING, 0)
    pool.set_limits("short", TenantLimits(max_wait_s=0.02))
    with pytest.raises(damacy.TryAgain) as caught:
        pool.tenant("short").parse_metadata(SMALL)
    assert (caught.value.kind, caught.value.limit) == (RefusalKind.MAX_WAIT, 20_000_000)
    token.cancel()
    runs.ended()


def test_other_threads_run_meanwhile(pool):
    token = Cancel()
    runs = Calling(pool.tenant("alice", cancel=token))
    wait_for(running(pool, "alice"))
    assert sum(range(1000)) == 499500
    assert pool.tenant("bob").parse_metadata(SMALL).used.wait_s < 60
    assert pool.metrics("alice").running + pool.metrics("alice").waiting == 1
    assert not pool.remove("alice")
    token.cancel()
    runs.ended()


def test_a_cancelled_task_cancels_its_call(pool):
    async def plan(token):
        try:
            return await asyncio.to_thread(long_call, pool.tenant("alice", cancel=token))
        except asyncio.CancelledError:
            token.cancel()
            raise

    async def main():
        token = Cancel()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(plan(token), 0.2)
        return token

    assert asyncio.run(main()).cancelled
    assert pool.metrics("alice").refused[RefusalKind.CANCELLED] == 1


PRELUDE = """
import os, signal, sys, threading, time
import damacy, numpy as np
sys.path.insert(0, {folder!r})
from test_pool_waiting import ENDLESS, SMALL, Calling, long_call, running, wait_for
"""


def run(script, **values):
    script = PRELUDE.format(folder=os.path.dirname(__file__)) + textwrap.dedent(script)
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", script]
    return subprocess.run(command, capture_output=True, text=True, timeout=100, **values)


INTERRUPTED = """
signal.signal(signal.SIGINT, signal.default_int_handler)
pool = damacy.PlannerPool(ENDLESS)
where = sys.argv[1] if len(sys.argv) > 1 else WHERE
if where == "waiting":
    holds = Calling(pool.tenant("alice"))
    wait_for(running(pool, "alice"))
def interrupt():
    # When the call is there, however long it took to be made.
    figures = lambda: pool.metrics("alice")
    wait_for(lambda: figures() and (figures().waiting if where == "waiting" else figures().running))
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt).start()
start = time.monotonic()
try:
    long_call(pool.tenant("alice"))
except KeyboardInterrupt:
    took = time.monotonic() - start
    print("interrupted", took < 20)
metrics = pool.metrics("alice")
print(metrics.refused[damacy.RefusalKind.CANCELLED], metrics.waiting)
if where == "waiting":
    assert holds.is_alive()
else:
    # The pool goes on.
    print(pool.tenant("alice").parse_metadata(SMALL).info.shape)
"""


@pytest.mark.parametrize("where", ["running", "waiting"])
def test_control_c_ends_a_call(where):
    done = run(f"WHERE = {where!r}\n" + INTERRUPTED)
    expected = "interrupted True\n1 0\n" + ("(1,)\n" if where == "running" else "")
    assert (done.stdout, done.stderr, done.returncode) == (expected, "", 0)


HANDLER = """
pool = damacy.PlannerPool(ENDLESS)
seen = []
def handler(*_):
    # A call inside a call, and nothing raised: the outer call goes on.
    seen.append(pool.tenant("handler").parse_metadata(SMALL).info.shape)
signal.signal(signal.SIGUSR1, handler)
def signals():
    for _ in range(3):
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGUSR1)
    wait_for(lambda: len(seen) >= 1)
    token.cancel()
token = damacy.Cancel()
threading.Thread(target=signals).start()
try:
    long_call(pool.tenant("alice", cancel=token))
except damacy.PoolError as error:
    print(error.kind, len(seen) >= 1, set(seen))
"""


def test_signal_handlers_run_and_may_call_the_pool():
    done = run(HANDLER)
    assert (done.stdout, done.stderr, done.returncode) == ("cancelled True {(1,)}\n", "", 0)


FORKED = """
pool = damacy.PlannerPool(ENDLESS)
token = damacy.Cancel()
calls = [Calling(pool.tenant("alice", cancel=token)) for _ in range(3)]
wait_for(running(pool, "alice"))
facts = pool.tenant("main").parse_metadata(SMALL)
box = np.array([[[0, 1]]])
sys.stdout.flush()
child = os.fork()
if child == 0:
    for work in (lambda: pool.tenant("a").parse_metadata(SMALL), lambda: pool.metrics("alice"), lambda: pool.tenants()):
        try:
            work()
        except damacy.ShutdownError as error:
            print("fork" in str(error))
    pool.close()
    with damacy.PlannerPool(ENDLESS) as own:
        spec = damacy.BatchSpec(1, (1,))
        print(own.tenant("main").plan(spec, facts, box).chunk_key, own.tenant("main").plan(spec, SMALL, box).chunk_key)
    del pool
    sys.stdout.flush()
    {end}
_, status = os.waitpid(child, 0)
print(os.waitstatus_to_exitcode(status), pool.metrics("alice").running)
token.cancel()
print([call.ended().kind.value for call in calls])
"""


@pytest.mark.parametrize("end", ["os._exit(0)", "sys.exit(0)"])
def test_a_forked_child_makes_a_pool_of_its_own(end):
    done = run(FORKED.replace("{end}", end))
    expected = "True\n" * 3 + "('0',) ('0',)\n0 1\n['cancelled', 'cancelled', 'cancelled']\n"
    assert (done.stdout, done.stderr, done.returncode) == (expected, "", 0)


@pytest.mark.parametrize("calls", ["Calling(pool.tenant('a'))", "[Calling(pool.tenant('a')) for _ in range(8)]"])
def test_the_interpreter_exits_with_calls_under_way(calls):
    done = run(f"pool = damacy.PlannerPool(ENDLESS)\nkept = {calls}\nwait_for(running(pool, 'a'))\nprint('end')")
    assert (done.stdout, done.stderr, done.returncode) == ("end\n", "", 0)


def test_many_pools_leave_nothing_behind():
    def counts():
        with open("/proc/self/status") as status:
            resident = next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
        return len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd")), resident

    def one():
        pool = PlannerPool(ENDLESS)
        for name in range(20):
            pool.tenant(f"{name}").parse_metadata(SMALL)

    for _ in range(10):
        one()
    before = counts()
    for _ in range(200):
        one()
    after = counts()
    assert after[0] <= before[0] and after[1] <= before[1] and after[2] - before[2] < 16 << 10


def test_sigint_is_not_lost_between_calls():
    script = """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    pool = damacy.PlannerPool(ENDLESS)
    tenant = pool.tenant("alice")
    tenant.parse_metadata(SMALL)
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    end = time.monotonic() + 60
    try:
        while time.monotonic() < end:
            tenant.parse_metadata(SMALL)
    except KeyboardInterrupt:
        print("interrupted")
    """
    done = run(script)
    assert (done.stdout, done.stderr, done.returncode) == ("interrupted\n", "", 0)


