// Users of the library import HaulKit alone: its values come with it.
@_exported public import HaulCore
