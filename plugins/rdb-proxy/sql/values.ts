import mysql from 'mysql2'
import { WireError, type WireParam } from 'zin/plugins/sql-wire'

// The driver exports it by a getter, which named imports of CommonJS do not see.
const { TypedParameter } = mysql

/**
 * Parameters as the driver binds them. Integers are bound as BIGINT and decimals as DECIMAL: against a text the server would compare both
 * as floating-point numbers. Throws INVALID_PARAM for a float that MySQL has no value for.
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
      throw new WireError('INVALID_PARAM', `Parameter ${index}: MySQL has no ${param.value}`, { details: { index } })
    }
    case 'date':
    case 'time':
    case 'datetime':
    case 'timestamp':
      return param.value
  }
}
