"""Functions of kernels without equivalent in Python: calls by address, addresses of records."""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from flexmbs._jit.by_reference import WORD, Reference


@intrinsic
def call_address(_context, address, x, out):  # type: ignore[no-untyped-def]
    """Call ``void f(double *x, double *out)`` at an integer address; the caller stays cacheable."""
    signature = types.void(types.int64, x, out)

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        """Emit the call of a C function (x, out) at an address with the data of two arrays."""
        pointer = ir.DoubleType().as_pointer()
        function = ir.FunctionType(ir.VoidType(), [pointer, pointer])
        target = builder.inttoptr(arguments[0], function.as_pointer())
        data = [
            builder.bitcast(
                context.make_array(signature.args[k])(context, builder, arguments[k]).data, pointer
            )
            for k in (1, 2)
        ]
        builder.call(target, data)
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def address_of(_context, record):  # type: ignore[no-untyped-def]
    """Address of a record passed by reference, or of a copy of a value on the caller's stack."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        """Emit the address of a record, copied to the stack if it is passed by value."""
        reference = isinstance(record, Reference)
        return builder.ptrtoint(
            arguments[0] if reference else cgutils.alloca_once_value(builder, arguments[0]), WORD
        )

    return types.int64(record), generate


@intrinsic
def memory_of(_context, words, record):  # type: ignore[no-untyped-def]
    """Address of the packed record whose words are in the array ``words``."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        """Emit the address of the data of an array."""
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        return builder.ptrtoint(array.data, WORD)

    return types.int64(words, record), generate


@intrinsic
def call(_context, address, one, two, three, t, a, b):  # type: ignore[no-untyped-def]
    """Call a kernel ``int64 f(record, record, record, double, double, double)`` at an address."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        """Emit the call of a kernel at an address with three words and three numbers."""
        kind = ir.FunctionType(WORD, [WORD] * 3 + [ir.DoubleType()] * 3)
        return builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), arguments[1:])

    return types.int64(*[types.int64] * 4, *[types.float64] * 3), generate
