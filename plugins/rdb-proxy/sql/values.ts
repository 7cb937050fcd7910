import mysql from 'mysql2'
import { WireError, type WireParam } from 'zin/plugins/sql-wire'

// The driver exports it with a getter, which named imports from CommonJS cannot see.
const { TypedParameter } = mysql

/**
 * Converts parameters to values that the driver binds. Integers are bound as BIGINT and decimals as DECIMAL: bound as text, the server would
 * compare them as floating-point numbers. Throws INVALID_PARAM for floats that MySQL does not support.
 */
export function bindValues(params: readonly WireParam[]): unknown[] {
  return params.map(bindValue)
}

function bindValue(param: WireParam, index: number): unknown {
  if (typeof param === 'number') return Number.isInteger(param) && !Object.is(param, -0) ? TypedParameter.BIGINT(param) : param
  if (typeof param !== 'object' || param === null) return param
  switch (param.$type) {
    case 'int64':
      return TypedParameter.BIGINT(param.value)
    case 'uint64':
      return TypedParameter.BIGINT.unsigned(param.value)
    case 'decimal':
      return TypedParameter.DECIMAL(param.value)
    case 'blob':
      return Buffer.from(param.base64, 'base64')
    case 'json':
      return JSON.stringify(param.value)
    case 'real': {
      const value = Number(param.value)
      if (Number.isFinite(value)) return value
      throw new WireError('INVALID_PARAM', `Parameter ${index}: MySQL does not support ${param.value}`, { details: { index } })
    }
    case 'date':
    case 'time':
    case 'datetime':
    case 'timestamp':
      return param.value
  }
}
