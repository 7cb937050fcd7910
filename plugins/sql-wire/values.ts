/** JavaScript values that every connection to a database gives and takes, see the type table in the README of database. */

/** Returns a 64-bit integer as a number if that is exact, otherwise as a bigint. @param digits decimal digits, or the integer. */
export function integerOf(digits: string | bigint | number): number | bigint {
  const value = Number(digits)
  return Number.isSafeInteger(value) ? value : BigInt(digits)
}

/**
 * Returns a time as databases write it, in UTC: `2024-02-29 23:59:59.123`. Undefined if the Date is invalid, or of a year before 0 or after
 * 9999.
 */
export function timeText(time: Date): string | undefined {
  const year = time.getUTCFullYear()
  return year >= 0 && year <= 9999 ? time.toISOString().slice(0, 23).replace('T', ' ') : undefined
}
