# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What makes hundreds of short verbs programs bearable under emulation."""
import glob
import os

from report import check

_KEPT = ("ohca.driver", "rxe.driver")


def keep_two_providers():
    """libibverbs loads every provider it knows of in every process: 15 libraries over 9p.

    Only the guest's overlay is changed.
    """
    for path in glob.glob("/etc/libibverbs.d/*.driver"):
        if os.path.basename(path) not in _KEPT:
            os.unlink(path)


def perftest_environment(new_post_api=False):
    """The environment with a cheap rand() for perftest's buffers, see fast_rand.cc.

    perftest uses ibv_wr_* only on the devices it knows by their number; new_post_api
    has it do so on any (providers/ohca/tests/perftest_wr_api.c).
    """
    names = ["fast_rand"] + (["ohca_perftest_wr_api"] if new_post_api else [])
    paths = [f"{os.environ.get('OHCA_BUILD', '')}/user/lib/lib{name}.so" for name in names]
    found = [path for path in paths if os.path.exists(path)]
    # without the first perftest is only slow, without the second it would test something else
    check(not new_post_api or paths[1] in found, f"the build has no {paths[-1]}")
    return dict(os.environ, LD_PRELOAD=":".join(found))
