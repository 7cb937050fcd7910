import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type DefineInput, defineServices } from './define-services.js'
import type { FoundService } from './find-services.js'
import type { ServiceConfig } from './read-config.js'

function found(...configs: readonly ServiceConfig[]): readonly FoundService[] {
  return configs.map((config) => ({ place: `shop/${config.name}`, folder: `folder/${config.name}`, domain: 'shop', config }))
}

function define(services: readonly FoundService[], more: Partial<DefineInput> = {}) {
  const tracing = { enabled: false, samplingRate: 1 }
  const common = {
    discovers: true,
    registered: {},
    allowed: [],
    host: '127.0.0.1',
    basePort: 3001,
    process: 'shared',
    isolation: 'shared',
    reserved: [],
    authorities: {},
  } as const
  return defineServices({ ...common, tracing, found: services, ...more })
}

describe('defineServices', () => {
  it('has defaults for everything a configuration omits', () => {
    const { services } = define(found({ name: 'a' }))
    assert.deepEqual(services, [
      {
        name: 'a',
        domain: 'shop',
        version: '0.0.0',
        description: '',
        source: 'discovered',
        dependencies: [],
        healthCheck: '/health',
        auth: 'none',
        database: { isolation: 'shared', migrations: false },
        tracing: { enabled: false, samplingRate: 1 },
        urls: ['http://127.0.0.1:3001'],
        local: { folder: 'folder/a', host: '127.0.0.1', ports: [3001], process: 'shared' },
      },
    ])
  })

  it('assigns fixed ports first, then ports by position, skipping those in use', () => {
    const { services } = define(found({ name: 'a' }, { name: 'b', port: 3001 }, { name: 'c' }, { name: 'd' }), { reserved: [3003] })
    assert.deepEqual(
      services.map(({ name, local }) => [name, ...(local?.ports ?? [])]),
      [
        ['a', 3002],
        ['b', 3001],
        ['c', 3004],
        ['d', 3005],
      ],
    )
  })

  it('assigns the same ports when SERVICES excludes other services', () => {
    const { notes, services } = define(found({ name: 'a' }, { name: 'b', dependencies: ['a'] }), { allowed: ['b'] })
    assert.deepEqual(
      services.map(({ name, urls }) => [name, urls[0]]),
      [['b', 'http://127.0.0.1:3002']],
    )
    assert.deepEqual(notes, ['service "b" depends on "a", which is not listed in SERVICES'])
  })

  it('assigns a port to each instance', () => {
    const { services } = define(found({ name: 'a' }, { name: 'b' }), { registered: { a: { instances: 3 } } })
    assert.deepEqual(
      services.map(({ local }) => local?.ports),
      [[3001, 3003, 3004], [3002]],
    )
  })

  it('puts dependencies first', () => {
    const { services } = define(found({ name: 'a', dependencies: ['c'] }, { name: 'b', dependencies: ['a'] }, { name: 'c' }))
    assert.deepEqual(
      services.map(({ name }) => name),
      ['c', 'a', 'b'],
    )
  })

  it('uses a discovered service at its registered address, with its own configuration', () => {
    const [service] = define(found({ name: 'a', auth: { strategy: 'jwt' } }), { registered: { a: { url: 'https://a.internal' } } }).services
    assert.deepEqual([service?.urls, service?.local, service?.auth], [['https://a.internal'], undefined, 'jwt'])
  })

  it('lists all problems at once: names, ports, cycles, dependencies, SERVICES, addresses', () => {
    const services = found(
      { name: 'a', port: 80, dependencies: ['b'] },
      { name: 'b', dependencies: ['c'] },
      { name: 'c', dependencies: ['a'] },
      { name: 'd', port: 80 },
      { name: 'd', port: 7777, dependencies: ['nobody'] },
    )
    const registered = {
      x: { url: 'http://169.254.169.254' },
      y: { url: ['http://y/path', 'ftp://y', 'http://u:secret@y'] },
      z: {},
      BAD: { url: 'http://bad', healthCheck: '//evil' },
    }
    const { problems } = define(services, { allowed: ['a', 'b', 'c', 'd', 'e'], registered, reserved: [7777] })
    const text = problems.join('\n')
    for (const part of [
      'shop/d and shop/d have the same name "d"',
      'shop/d and shop/a have the same port 80',
      'SERVICES contains "e"',
      'shop/d: port 7777 is the port of the app',
      'depends on "nobody", which is neither discovered nor registered',
      'form a cycle: ',
      'option services.x.url',
      'it must be an origin',
      'a ftp: URL',
      'option services.z: it has no url, and no service with that name was discovered',
      'the name "BAD" must be',
      'option services.BAD.healthCheck',
    ])
      assert.ok(text.includes(part), `${part}\nis missing in\n${text}`)
    assert.deepEqual(define([], { discovers: false, registered: { z: {} } }).problems, [
      'option services.z: it has no url, and services are discovered only with MICROSERVICES=true',
    ])
    assert.match(text, /cycle: (a → b → c → a|b → c → a → b|c → a → b → c)/)
    assert.ok(!text.includes('secret'))
  })
})
