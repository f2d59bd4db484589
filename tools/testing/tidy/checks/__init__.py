# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""All checks by name.  A check takes a Tree and returns a list of problems."""
from .clang import check_clang
from .documents import check_documents
from .functions import check_function_length
from .headers import check_contract_headers, check_cxx_headers
from .kernel import check_checkpatch, check_sparse
from .manual import check_manual
from .names import check_binaries, check_foreign_headers, check_names
from .purity import check_core_purity
from .requirements import check_requirements, check_requirements_tested
from .text import check_file_length, check_licence, check_whitespace
from .tree import Skip, Tree, run_check  # noqa: F401

ALL = {
    'file-length': check_file_length,
    'function-length': check_function_length,
    'whitespace': check_whitespace,
    'licence': check_licence,
    'names': check_names,
    'foreign-headers': check_foreign_headers,
    'binaries': check_binaries,
    'documents': check_documents,
    'manual': check_manual,
    'requirements': check_requirements,
    'requirements-tested': check_requirements_tested,
    'contract-headers': check_contract_headers,
    'cxx-headers': check_cxx_headers,
    'core-purity': check_core_purity,
    'checkpatch': check_checkpatch,
    'sparse': check_sparse,
    'clang': check_clang,
}
