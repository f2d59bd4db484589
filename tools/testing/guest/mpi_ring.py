# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A token goes round all processes of an MPI job. Without MPI's headers: its library is called as it is."""
import ctypes
import sys

ROUNDS = 100
BYTES = 64 * 1024

mpi = ctypes.CDLL("libmpi.so.40", mode=ctypes.RTLD_GLOBAL)
# Open MPI: a communicator or datatype handle is the address of an object.
world = ctypes.byref(ctypes.c_char.in_dll(mpi, "ompi_mpi_comm_world"))
byte = ctypes.byref(ctypes.c_char.in_dll(mpi, "ompi_mpi_byte"))


def call(name, *arguments):
    status = getattr(mpi, name)(*arguments)
    if status != 0:
        sys.exit(f"{name}: error {status}")


def number(name):
    value = ctypes.c_int()
    call(name, world, ctypes.byref(value))
    return value.value


call("MPI_Init", None, None)
rank, size = number("MPI_Comm_rank"), number("MPI_Comm_size")
token = ctypes.create_string_buffer(BYTES)
for turn in range(ROUNDS):
    wanted = bytes([turn % 251]) * BYTES
    if rank == 0:
        ctypes.memmove(token, wanted, BYTES)
        call("MPI_Send", token, BYTES, byte, (rank + 1) % size, turn, world)
    call("MPI_Recv", token, BYTES, byte, (rank - 1) % size, turn, world, None)
    if token.raw != wanted:
        sys.exit(f"rank {rank}, round {turn}: the token is not what was sent")
    if rank != 0:
        call("MPI_Send", token, BYTES, byte, (rank + 1) % size, turn, world)
call("MPI_Finalize")
print(f"rank {rank} of {size}: {ROUNDS} rounds")
