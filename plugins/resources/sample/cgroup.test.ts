import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type CgroupUsage, noCgroup, parseCgroupPaths, parseCpuMax, parseField, parseLimit, readCgroup, withAncestors } from './cgroup.js'

const mib = 1024 ** 2
const files = (texts: Readonly<Record<string, string>>) => async (path: string) => texts[path]

const cases: readonly (readonly [title: string, files: Readonly<Record<string, string>>, usage: CgroupUsage])[] = [
  ['no cgroups, as on macOS and Windows', {}, noCgroup],
  [
    'version 2 in a container, where the cgroup is the root',
    {
      '/proc/self/cgroup': '0::/\n',
      '/sys/fs/cgroup/memory.max': `${512 * mib}\n`,
      '/sys/fs/cgroup/memory.current': `${300 * mib}\n`,
      '/sys/fs/cgroup/memory.stat': `anon 1\nfile 2\ninactive_file ${100 * mib}\nactive_file 3\n`,
      '/sys/fs/cgroup/cpu.max': '150000 100000\n',
      '/sys/fs/cgroup/cpu.stat': 'usage_usec 1\nnr_throttled 2\nthrottled_usec 2500000\n',
    },
    { cpuLimit: 1.5, throttledMs: 2500, memory: 200 * mib, memoryLimit: 512 * mib },
  ],
  [
    'version 2 with the limit on an ancestor',
    {
      '/proc/self/cgroup': '0::/system.slice/app.service\n',
      '/sys/fs/cgroup/system.slice/app.service/memory.max': 'max\n',
      '/sys/fs/cgroup/system.slice/app.service/memory.current': `${10 * mib}\n`,
      '/sys/fs/cgroup/system.slice/memory.max': `${64 * mib}\n`,
      '/sys/fs/cgroup/system.slice/memory.current': `${60 * mib}\n`,
      '/sys/fs/cgroup/system.slice/app.service/cpu.max': 'max 100000\n',
      '/sys/fs/cgroup/system.slice/app.service/cpu.stat': 'throttled_usec 0\n',
    },
    { cpuLimit: null, throttledMs: 0, memory: 60 * mib, memoryLimit: 64 * mib },
  ],
  [
    'version 1 with limits',
    {
      '/proc/self/cgroup': '4:memory:/docker/ab\n2:cpuacct,cpu:/docker/ab\n0::/\n',
      '/sys/fs/cgroup/memory/memory.limit_in_bytes': `${256 * mib}\n`,
      '/sys/fs/cgroup/memory/memory.usage_in_bytes': `${128 * mib}\n`,
      '/sys/fs/cgroup/memory/memory.stat': `cache 1\ntotal_inactive_file ${28 * mib}\n`,
      '/sys/fs/cgroup/cpu/cpu.cfs_quota_us': '50000\n',
      '/sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000\n',
      '/sys/fs/cgroup/cpu/cpu.stat': 'nr_periods 1\nnr_throttled 1\nthrottled_time 7000000\n',
    },
    { cpuLimit: 0.5, throttledMs: 7, memory: 100 * mib, memoryLimit: 256 * mib },
  ],
  [
    'version 1 without limits',
    {
      '/proc/self/cgroup': '4:memory:/\n1:cpu:/\n',
      '/sys/fs/cgroup/memory/memory.limit_in_bytes': '9223372036854771712\n',
      '/sys/fs/cgroup/memory/memory.usage_in_bytes': `${128 * mib}\n`,
      '/sys/fs/cgroup/cpu/cpu.cfs_quota_us': '-1\n',
      '/sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000\n',
    },
    noCgroup,
  ],
  ['files that hold nothing of use', { '/proc/self/cgroup': 'nonsense\n', '/sys/fs/cgroup/memory.max': '' }, noCgroup],
]

describe('the cgroup of a process', () => {
  for (const [title, texts, usage] of cases) {
    it(`is read: ${title}`, async () => assert.deepEqual(await readCgroup(files(texts)), usage))
  }

  it('has a path for each hierarchy', () => {
    const { unified, controllers } = parseCgroupPaths('12:cpu,cpuacct:/a\n4:memory:/b:c\n0::/d\n')
    assert.equal(unified, '/d')
    assert.deepEqual(
      [...controllers],
      [
        ['cpu', '/a'],
        ['cpuacct', '/a'],
        ['memory', '/b:c'],
      ],
    )
  })

  it('is found from its own folder up, never above the mount', () => {
    assert.deepEqual(withAncestors('/a/b'), ['/a/b', '/a', ''])
    assert.deepEqual(withAncestors('/'), [''])
    assert.deepEqual(withAncestors('/../../x'), ['/x', ''])
  })

  for (const [text, limit] of [
    ['max', null],
    ['1024\n', 1024],
    ['0', 0],
    ['1e9', null],
    [undefined, null],
  ] as const) {
    it(`has a limit of ${limit} when the file says ${JSON.stringify(text)}`, () => assert.equal(parseLimit(text), limit))
  }

  for (const [text, cores] of [
    ['max 100000', null],
    ['200000 100000', 2],
    ['200000', null],
    ['', null],
    ['0 100000', null],
  ] as const) {
    it(`has ${cores} cores when cpu.max says "${text}"`, () => assert.equal(parseCpuMax(text), cores))
  }

  it('has fields by their whole name', () => {
    assert.equal(parseField('inactive_file_x 1\ninactive_file 2', 'inactive_file'), 2)
    assert.equal(parseField('', 'inactive_file'), null)
  })
})
