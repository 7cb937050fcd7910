import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { describeRedis, redisTarget } from './target.js'

const read = (url: string) => redisTarget('REDIS_URL', url)

describe('Redis URLs', () => {
  it('contain a server, a database, a user and an encoded password', () => {
    assert.deepEqual(read('redis://localhost'), { kind: 'single', tls: false, nodes: [{ host: 'localhost', port: 6379 }], db: 0 })
    assert.deepEqual(read('rediss://app:p%40ss%2Fword@[::1]:6380/3'), {
      kind: 'single',
      tls: true,
      nodes: [{ host: '::1', port: 6380 }],
      db: 3,
      username: 'app',
      password: 'p@ss/word',
    })
    assert.equal(read('redis://:secret@h').password, 'secret')
  })

  it('contain a cluster or the sentinels of a master', () => {
    assert.deepEqual(read('redis-cluster://a:7000,b:7001').nodes, [
      { host: 'a', port: 7000 },
      { host: 'b', port: 7001 },
    ])
    const sentinel = read('rediss-sentinel://:pw@a,b:26380/main/2?sentinelPassword=sp')
    assert.deepEqual(sentinel, {
      kind: 'sentinel',
      tls: true,
      nodes: [
        { host: 'a', port: 26_379 },
        { host: 'b', port: 26_380 },
      ],
      db: 2,
      password: 'pw',
      master: 'main',
      sentinelPassword: 'sp',
    })
  })

  it('are described without user and password', () => {
    assert.equal(describeRedis(read('rediss://app:hunter2@h:1/4')), 'Redis at h:1, database 4 (TLS)')
    assert.equal(describeRedis(read('redis-sentinel://:hunter2@a,b/main')), 'Redis at main by sentinels a:26379, b:26379')
  })

  it('are refused when malformed, with a message that does not repeat them', () => {
    const malformed = [
      'http://hunter2',
      'redis://',
      'redis://h:99999',
      'redis://h:0',
      'redis://a,b',
      'redis://h/x',
      'redis://h/1/2',
      'redis-cluster://h/1',
      'redis-sentinel://h',
      'redis://u:%zz@h',
      'hunter2',
      '',
      'redis://h:6379#hunter2',
    ]
    for (const url of malformed) {
      assert.throws(
        () => read(url),
        (error) => {
          assert.match(String(error), /REDIS_URL is not a Redis URL/, url)
          assert.doesNotMatch(String(error), /hunter2/)
          return true
        },
      )
    }
  })
})
