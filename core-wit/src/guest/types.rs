//! `types`: enums and the error, both ways.

use super::wit::types as wit;
use crate::error::{Error, Limit, LimitName};
use crate::{ByteOrder, Dtype, SourceType, Status};

/// `From` both ways between enums whose cases have the same names.
macro_rules! same_cases {
    ($core:ty, $wit:ty, [$($case:ident)*]) => {
        impl From<$wit> for $core {
            fn from(value: $wit) -> Self {
                match value { $(<$wit>::$case => <$core>::$case),* }
            }
        }
        impl From<$core> for $wit {
            fn from(value: $core) -> Self {
                match value { $(<$core>::$case => <$wit>::$case),* }
            }
        }
    };
}
pub(super) use same_cases;

same_cases!(Dtype, wit::Dtype, [F32 Bf16 U8 U16 U32 U64 I8 I16 I32 I64]);
same_cases!(SourceType, wit::Source, [U8 U16 U32 U64 I8 I16 I32 I64 F16 F32]);
same_cases!(ByteOrder, wit::ByteOrder, [Little Big]);
same_cases!(LimitName, wit::LimitName, [MaxBytes MaxDepth MaxValues MaxRank MaxCodecs MemoryBytes MaxChunks Range]);

impl From<Error> for wit::Error {
    fn from(error: Error) -> Self {
        let Error { status, message, sample, array, path, limit } = error;
        let limit = limit.map(|Limit { name, value, asked }| wit::Limit { name: name.into(), value, asked });
        let problem = wit::Problem { message, sample, array, path, limit };
        match status {
            Status::Inval => wit::Error::InvalidArgument(problem),
            Status::Dtype => wit::Error::UnconvertibleType(problem),
            Status::Rank => wit::Error::RankMismatch(problem),
            Status::Decode => wit::Error::Malformed(problem),
            Status::Budget => wit::Error::OverBudget(problem),
            Status::Unsupported => wit::Error::Unsupported(problem),
            _ => wit::Error::Internal(problem),
        }
    }
}
