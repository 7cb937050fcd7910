import { createHash } from 'node:crypto'

/**
 * Converts the name of an app to a prefix for shared stores. ASCII letters, digits, `.`, `_` and `-` are kept, and a space becomes `_`. If
 * anything else is replaced, or the name is longer than `max`, a hash of the whole name is appended, so that such names do not share a prefix.
 *
 * @example
 * appSlug('My shop') // 'My_shop'
 * appSlug('商店') // '_-61f96c6a'
 */
export function appSlug(name: string, max = Number.POSITIVE_INFINITY): string {
  const whole = name.normalize('NFC')
  const plain = whole.replaceAll(' ', '_')
  const slug = plain.replaceAll(/[^A-Za-z0-9._-]+/g, '_')
  if (slug === plain && slug.length <= max) return slug
  const hash = createHash('sha256').update(whole).digest('hex').slice(0, 8)
  return `${slug.slice(0, max - hash.length - 1)}-${hash}`
}
