# SPDX-License-Identifier: MIT
"""Saved states: what goes on from one has nothing of another guest, and no state has to be good."""

from __future__ import annotations

import contextlib
import io
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import lab.guest
from lab import MODULES, Guest, LabError, saved
from lab.initramfs import GIVEN, base
from lab.qemu import kvm_usable

MODULE = MODULES / "lull_selftest.ko"
CLOCK_NOISE_S = 5


@contextlib.contextmanager
def _told() -> Iterator[io.StringIO]:
    """What the lab says meanwhile, which is then no line of this test's."""
    with contextlib.redirect_stderr(io.StringIO()) as told:
        yield told


def _state() -> Path:
    """The state that a guest goes on from if nothing else is asked for."""
    guest = Guest()
    each = base(guest.kernel, guest.machine.channel_device, shared=True)
    state = saved.state_of(guest.machine, guest.machine.emulator(), each)
    guest._remove()
    if state is None:
        raise lab.Skip("guests boot: QEMU does not interpret them, or is old")
    return state


def guests_that_go_on_from_one_state_share_nothing() -> None:
    _state()
    with tempfile.NamedTemporaryFile("w") as file:
        file.write("of the first")
        file.flush()
        with Guest(modules=[MODULE], files={"/var/given": Path(file.name)}) as guest:
            assert guest.check("cat /var/given") == "of the first"
            guest.check("insmod /modules/lull_selftest.ko; echo left | tee /left /run/left")
    with Guest() as guest:
        assert guest.check("cat /proc/modules").split()[0] != MODULE.stem
        left = guest.run("ls /left /run/left /var/given /modules/*").output.splitlines()
        assert len(left) == 4 and all("No such file" in line for line in left), left
        assert not (guest.share / GIVEN).exists()
        away_s = int(guest.check("date +%s")) - time.time()
        assert abs(away_s) < CLOCK_NOISE_S, f"the guest's clock is {away_s:.1f} s ahead"


def module_that_another_needs_is_loaded_once_also_if_the_state_has_it() -> None:
    with Guest(kernel_modules=["virtio_blk", "9p"]) as guest:
        assert guest.check("ls -d /sys/module/virtio_blk").strip() == "/sys/module/virtio_blk"


def state_that_cannot_be_restored_is_told_and_removed_and_the_guest_boots() -> None:
    whole = _state()
    with tempfile.TemporaryDirectory(prefix="lull-boot-") as folder:
        half = Path(folder) / "half"
        half.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
        with mock.patch.object(lab.guest, "state_of", lambda *_: half), _told() as told:
            with Guest() as guest:
                assert guest.check("echo it works") == "it works\n"
        assert not half.exists()
    assert f"lab: a guest boots, because {half} cannot be restored: " in told.getvalue()
    assert whole.exists()


def state_is_made_anew_where_what_it_depends_on_changes() -> None:
    if kvm_usable():
        raise lab.Skip("guests boot: QEMU does not interpret them")
    guest = Guest()
    guest._remove()
    emulator = guest.machine.emulator()
    with tempfile.TemporaryDirectory(prefix="lull-boot-") as folder:

        def made(*of: object) -> str:
            path = saved.state_of(*of)
            assert path is not None and [path] == list(Path(folder).iterdir()), path
            return path.name

        save = mock.Mock(side_effect=lambda *of: of[-1].touch())
        with mock.patch.multiple(saved, CACHE=Path(folder), _save=save):
            first = made(guest.machine, emulator, b"one")
            assert made(guest.machine, emulator, b"one") == first and save.call_count == 1
            assert made(guest.machine, emulator, b"two") != first
            with tempfile.NamedTemporaryFile("w") as started:
                started.write("another start of the host")
                started.flush()
                with mock.patch.object(saved, "HOSTS_START", Path(started.name)):
                    assert made(guest.machine, emulator, b"one") != first
            assert save.call_count == 3
            save.side_effect = LabError("planted reason")
            with _told() as told:
                assert saved.state_of(guest.machine, emulator, b"three") is None
            assert "lab: guests boot, because none can be saved: planted reason" in told.getvalue()
