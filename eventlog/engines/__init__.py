"""The storage engines behind `eventlog.engine`, one file each: `memory` is the specification, `lmdb` the default."""
