import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { appSlug } from './app-slug.js'

describe('the slug of an app', () => {
  it('is the name itself if it is plain, with _ for a space', () => {
    for (const name of ['zin-app', 'shop.v2', 'A_b-9']) assert.equal(appSlug(name), name)
    assert.equal(appSlug('My big shop'), 'My_big_shop')
  })

  it('differs for names that differ only in replaced characters', () => {
    const names = ['商店', '订单', 'магазин', 'мaгазин', 'café', 'cafe', 'caf_', '🛒', '📦', "Bob's", 'Bob_s', 'a/b', 'a:b', '_', '\u0000']
    const slugs = names.map((name) => appSlug(name))
    assert.equal(new Set(slugs).size, names.length, slugs.join(' '))
    for (const slug of slugs) assert.match(slug, /^[A-Za-z0-9._-]+$/)
  })

  it('is stable, whichever way an accent is encoded', () => {
    assert.equal(appSlug('商店'), '_-61f96c6a')
    assert.equal(appSlug('cafe\u0301'), appSlug('caf\u00e9'))
  })

  it('respects a limit, also for long names with the same beginning', () => {
    const [one, two] = [appSlug(`${'a'.repeat(80)}1`, 63), appSlug(`${'a'.repeat(80)}2`, 63)]
    assert.deepEqual([one.length, two.length], [63, 63])
    assert.notEqual(one, two)
    assert.equal(appSlug('a'.repeat(63), 63), 'a'.repeat(63))
  })
})
