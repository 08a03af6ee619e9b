// Exports the types of HaulCore, so that applications import HaulKit alone.
@_exported public import HaulCore
