import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { plainEnv, SettingsReader } from './read-settings.js'
import { defineSettings } from './settings.js'

const specs = defineSettings({
  COUNT: { type: 'int', default: 5, min: 1, max: 10, summary: 'Count' },
  RATE: { type: 'number', default: 0.5, min: 0, max: 1, summary: 'Rate' },
  ON: { type: 'bool', default: true, summary: 'On' },
  NAMES: { type: 'list', default: [], summary: 'Names' },
  MODE: { type: 'enum', values: ['fast', 'slow'], default: 'fast', summary: 'Mode' },
  KEY: { type: 'string', default: '', secret: true, summary: 'Key' },
  ZONE: { type: 'string', default: '', pattern: '^[a-z]+$', summary: 'Zone' },
  HOURS: { type: 'string', default: '', pattern: '^[0-9]{2}-[0-9]{2}$', form: 'HH-HH, such as 22-06', summary: 'Hours' },
})

const read = (values: Record<string, string>) => new SettingsReader(plainEnv(values)).read('test', specs)

describe('settings', () => {
  it('have their declared types and defaults', () => {
    assert.deepEqual(read({}), { COUNT: 5, RATE: 0.5, ON: true, NAMES: [], MODE: 'fast', KEY: '', ZONE: '', HOURS: '' })
    assert.deepEqual(read({ COUNT: '7', RATE: '0.25', ON: 'off', NAMES: 'a, b,', MODE: 'slow', KEY: '007', ZONE: 'eu', HOURS: '22-06' }), {
      COUNT: 7,
      RATE: 0.25,
      ON: false,
      NAMES: ['a', 'b'],
      MODE: 'slow',
      KEY: '007',
      ZONE: 'eu',
      HOURS: '22-06',
    })
  })

  it('treat an empty value as unset', () => assert.equal(read({ COUNT: '' }).COUNT, 5))

  for (const [name, value, expected] of [
    ['ZONE', 'EU', /ZONE=EU: expected text matching \^\[a-z\]\+\$ \(read by test\)/],
    ['HOURS', '22:06', /HOURS=22:06: expected HH-HH, such as 22-06 \(read by test\)/],
    ['COUNT', '1.5', /COUNT=1.5: expected an integer from 1 to 10 /],
    ['COUNT', '11', /COUNT=11/],
    ['COUNT', '1e1', /COUNT=1e1/],
    ['ON', 'maybe', /ON=maybe: expected true or false/],
    ['MODE', 'c', /MODE=c: expected one of fast, slow \(read by test\)/],
    ['MODE', 'Slwo', /MODE=Slwo: expected one of fast, slow; did you mean "slow"\? \(read by test\)/],
    ['COUNT', 'http://u:canary@h/', /^(?!.*canary).*COUNT=http:\/\/u:\*+@h\/: expected/],
    ['COUNT', 'x'.repeat(10_000), /^.{0,180}$/],
  ] as const) {
    it(`refuse ${name}=${value.slice(0, 20)}`, () => assert.throws(() => read({ [name]: value }), expected))
  }

  it('are listed with source and readers, secrets masked', () => {
    const reader = new SettingsReader(plainEnv({ KEY: 'hunter2' }))
    reader.read('one', specs)
    // Another declaration may describe it differently, and leave it to this one that `zin add` makes a value.
    reader.read('two', { ...specs, KEY: { ...specs.KEY, generate: true, summary: 'The key' } })
    const rows = reader.report()
    assert.deepEqual(
      rows.find((row) => row.name === 'KEY'),
      {
        name: 'KEY',
        value: '********',
        source: 'environment',
        readers: ['one', 'two'],
        type: 'string',
        summary: 'Key',
      },
    )
    assert.equal(rows.find((row) => row.name === 'COUNT')?.source, 'default')
  })

  it('of a family are all variables with the prefix, of which only the names are listed', () => {
    const family = defineSettings({ 'EXTRA_*': { type: 'family', default: {}, summary: 'Extras' } })
    const reader = new SettingsReader(plainEnv({ EXTRA_: 'no', 'EXTRA_X-Key': 'hunter2', EXTRA_B: 'b', EXTRA_EMPTY: '', OTHER: 'c' }))
    assert.deepEqual(reader.read('test', family), { 'EXTRA_*': { 'X-Key': 'hunter2', B: 'b' } })
    assert.deepEqual(
      reader.report().map(({ name, value, source }) => [name, value, source]),
      [['EXTRA_*', 'X-Key, B', 'environment']],
    )
    assert.deepEqual(new SettingsReader(plainEnv({})).read('test', family), { 'EXTRA_*': {} })
  })
})
