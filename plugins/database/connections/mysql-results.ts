import type { ConnectionOptions, TypeCastField, TypeCastNext } from 'mysql2'
import { integerOf } from 'zin/plugins/sql-wire'

/** Options of mysql2 for values as in the type table of the README: texts for what JavaScript has no exact type for, and no rounding. */
export const typedResults = {
  supportBigNumbers: true,
  dateStrings: true,
  jsonStrings: true,
  typeCast: resultValue,
} as const satisfies ConnectionOptions

function resultValue(field: TypeCastField, next: TypeCastNext): unknown {
  switch (field.type as string) {
    case 'LONGLONG': {
      const value: unknown = next()
      return typeof value === 'string' ? integerOf(value) : value
    }
    case 'GEOMETRY':
    case 'VECTOR':
      return plain(field.buffer())
    default:
      return plain(next())
  }
}

/** The proxies have no Buffers. */
function plain(value: unknown): unknown {
  return Buffer.isBuffer(value) ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength) : value
}
