"""A cable that delays its frames: joins two network devices, each frame some time later.

`delay_line FIRST SECOND FORTH_US BACK_US` prints a line once it listens, and ends when one of the
devices is gone. Frames keep their offloads (a TCP segment of 64 KiB is one frame), so a gigabit a
second costs it a few thousand frames.
"""

import contextlib
import ctypes
import errno
import os
import select
import socket
import struct
import sys
import time
from collections import deque
from dataclasses import dataclass, field

# SOURCE: linux/if_packet.h, linux/if_ether.h, asm-generic/socket.h, linux/prctl.h.
SOL_PACKET, PACKET_VNET_HDR, PACKET_IGNORE_OUTGOING = 263, 15, 23
ETH_P_ALL = 3
SO_TIMESTAMPNS, SCM_TIMESTAMPNS = 35, 35
PR_SET_TIMERSLACK = 29

VNET_HEADER_BYTES = 10
LARGEST_FRAME_BYTES = VNET_HEADER_BYTES + (1 << 16) + 64
QUEUE_BYTES = 1 << 22
AWAKE_S = 80e-6
"""So long before a frame leaves the process stays awake: waking up takes most of that."""
_STAMP = struct.Struct("ll")


@dataclass
class Lane:
    """One direction: frames that wait, each with the time at which it leaves."""

    source: socket.socket
    target: socket.socket
    delay_s: float
    waiting: deque[tuple[float, bytes]] = field(default_factory=deque)

    def take(self) -> None:
        """Take all frames that arrived, each by the kernel's time of its arrival."""
        with contextlib.suppress(BlockingIOError):
            while True:
                frame, more, _, _ = self.source.recvmsg(LARGEST_FRAME_BYTES, 64)
                seconds, nanoseconds = _STAMP.unpack_from(more[0][2])
                self.waiting.append((seconds + nanoseconds * 1e-9 + self.delay_s, frame))

    def send(self, now_s: float) -> None:
        """Pass on the frames whose time has come. A full device loses some, as a cable would."""
        while self.waiting and self.waiting[0][0] <= now_s:
            _, frame = self.waiting.popleft()
            try:
                self.target.send(frame)
            except OSError as error:
                # A device whose queue is full loses a frame, as a cable would.
                if error.errno not in (errno.EAGAIN, errno.ENOBUFS):
                    raise


def main(first: str, second: str, forth_us: float, back_us: float) -> int:
    """Run until a device is gone."""
    # Before processes that poll for messages, where the kernel allows it.
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    # The kernel otherwise wakes a process up to 50 us late.
    ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0)
    one, other = _open(first), _open(second)
    lanes = Lane(one, other, forth_us / 1e6), Lane(other, one, back_us / 1e6)
    print("ready", flush=True)
    with contextlib.suppress(OSError):
        while True:
            _turn(lanes)
    return 0


def _turn(lanes: tuple[Lane, Lane]) -> None:
    due = min((lane.waiting[0][0] for lane in lanes if lane.waiting), default=None)
    wait_s = None if due is None else max(0.0, due - time.time() - AWAKE_S)
    ready, _, _ = select.select([lane.source for lane in lanes], [], [], wait_s)
    for lane in lanes:
        if lane.source in ready:
            lane.take()
        lane.send(time.time())


def _open(device: str) -> socket.socket:
    """A socket that hears all frames that arrive at a device."""
    opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    opened.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
    opened.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
    opened.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    for queue in (socket.SO_RCVBUF, socket.SO_SNDBUF):
        opened.setsockopt(socket.SOL_SOCKET, queue, QUEUE_BYTES)
    opened.bind((device, ETH_P_ALL))
    opened.setblocking(False)
    return opened


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], float(sys.argv[3]), float(sys.argv[4])))
