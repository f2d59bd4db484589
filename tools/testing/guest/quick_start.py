# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What makes hundreds of short verbs programs bearable under emulation."""
import glob
import os

_KEPT = ("ohca.driver", "rxe.driver")


def keep_two_providers():
    """libibverbs loads every provider it knows of in every process: 15 libraries over 9p.

    Only the guest's overlay is changed.
    """
    for path in glob.glob("/etc/libibverbs.d/*.driver"):
        if os.path.basename(path) not in _KEPT:
            os.unlink(path)


def perftest_environment():
    """The environment with a cheap rand() for perftest's buffers, see fast_rand.cc."""
    library = f"{os.environ.get('OHCA_BUILD', '')}/user/lib/libfast_rand.so"
    if not os.path.exists(library):
        return dict(os.environ)
    return dict(os.environ, LD_PRELOAD=library)
