import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { missingPlatforms, platformOf, withoutIntegrity } from './lock-platforms.mjs'

describe('the lock file on other platforms', () => {
  it('lacks an optional package that is neither in the folder of its dependent nor above it', () => {
    const packages = {
      '': {},
      'node_modules/tool': { dev: true, optionalDependencies: { 'tool-linux-x64': '1.0.0', 'tool-darwin-arm64': '1.0.0' } },
      'node_modules/tool-linux-x64': {},
      'node_modules/outer/node_modules/inner': { optionalDependencies: { 'inner-linux-x64': '2.0.0', 'inner-win32-x64': '2.0.0' } },
      'node_modules/outer/node_modules/inner-linux-x64': {},
    }
    assert.deepEqual(missingPlatforms({ packages }), [
      { parent: 'node_modules/tool', name: 'tool-darwin-arm64', version: '1.0.0', dev: true },
      { parent: 'node_modules/outer/node_modules/inner', name: 'inner-win32-x64', version: '2.0.0', dev: false },
    ])
  })

  it('lists packages whose content npm cannot check', () => {
    const packages = {
      '': {},
      'node_modules/zin': { link: true },
      'node_modules/a': { version: '1.0.0', integrity: 'sha512-x' },
      'node_modules/a/node_modules/@x/b': { version: '2.0.0', dev: true },
    }
    assert.deepEqual(withoutIntegrity({ packages }), [
      { key: 'node_modules/a/node_modules/@x/b', name: '@x/b', version: '2.0.0', dev: true },
    ])
  })

  it('uses the name of a package that the registry does not have to determine its platform', () => {
    assert.deepEqual(platformOf('@rollup/rollup-linux-arm-musleabihf'), { os: ['linux'], cpu: ['arm'], libc: ['musl'] })
    assert.deepEqual(platformOf('@oxlint/binding-linux-x64-gnu'), { os: ['linux'], cpu: ['x64'], libc: ['glibc'] })
    assert.deepEqual(platformOf('@rollup/rollup-win32-x64-gnu'), { os: ['win32'], cpu: ['x64'] })
    assert.equal(platformOf('fsevents'), undefined)
  })
})
