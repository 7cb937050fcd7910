// npm omits the native packages of other platforms from a lock file that it creates on one platform, and `npm ci` then refuses the file
// (https://github.com/npm/cli/issues/4828). This script completes the lock file. Plain JavaScript without packages.
//   npm run lock                              creates the lock file again and completes it
//   node scripts/lock-platforms.mjs --check   lists what is missing (offline; part of `npm run check`)
import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { root } from './setup.mjs'

const file = join(root, 'package-lock.json')
const atOnce = 8
const systems = ['aix', 'android', 'darwin', 'freebsd', 'linux', 'netbsd', 'openbsd', 'openharmony', 'sunos', 'win32']
const processors = ['arm', 'arm64', 'ia32', 'loong64', 'mips64el', 'ppc64', 'riscv64', 's390x', 'x64']

/**
 * Returns the optional packages that a lock file lists as dependencies but has no entry for.
 * @param {{packages: Record<string, {optionalDependencies?: Record<string, string>, dev?: boolean}>}} lock
 * @returns {{parent: string, name: string, version: string, dev: boolean}[]} `parent` is the dependent's key in the lock file
 */
export function missingPlatforms(lock) {
  return Object.entries(lock.packages).flatMap(([parent, entry]) =>
    Object.entries(entry.optionalDependencies ?? {})
      .filter(([name]) => !isLocked(lock, parent, name))
      .map(([name, version]) => ({ parent, name, version, dev: entry.dev === true })),
  )
}

/** Whether Node would find `name` from the folder of `parent`: in that folder or above it. */
function isLocked(lock, parent, name) {
  const folders = parent.split('/node_modules/')
  const inside = folders.map((_, depth) => `${folders.slice(0, depth + 1).join('/node_modules/')}/node_modules/${name}`)
  return [...inside, `node_modules/${name}`].some((key) => key in lock.packages)
}

/** The platform in a package name such as `@rollup/rollup-linux-arm64-musl`; undefined if the name has no system and processor. */
export function platformOf(name) {
  const words = name.split(/[/-]/)
  const os = systems.find((system) => words.includes(system))
  const cpu = processors.find((processor) => words.includes(processor))
  if (os === undefined || cpu === undefined) return undefined
  const libc = words.some((word) => word.startsWith('musl')) ? 'musl' : words.some((word) => word.startsWith('gnu')) ? 'glibc' : undefined
  return { os: [os], cpu: [cpu], ...(libc && os === 'linux' ? { libc: [libc] } : {}) }
}

/** The registry's metadata; undefined if it does not have the package, because a mirror may lack some platforms. */
async function published({ name, version }) {
  const fields = ['version', 'dist.integrity', 'cpu', 'libc', 'license', 'os', 'engines', 'dependencies']
  const run = promisify(execFile)('npm', ['view', `${name}@${version}`, ...fields, '--json'], { shell: process.platform === 'win32' })
  const { stdout } = await run.catch((error) => {
    if (String(error.stdout).includes('"E404"')) return { stdout: 'null' }
    throw error
  })
  return JSON.parse(stdout) ?? undefined
}

/** An entry as npm writes it, without the download address. Without an integrity, npm accepts what the registry sends. */
async function entryFor(wanted) {
  const { name, version, dev } = wanted
  const about = (await published(wanted)) ?? { version, ...platformOf(name) }
  if (about.os === undefined || about.cpu === undefined || !/^\d+\.\d+\.\d+/.test(version) || about.dependencies !== undefined) {
    throw new Error(
      `${name}@${version} of ${wanted.parent} is not a plain native package with an exact version: add it to package-lock.json by hand`,
    )
  }
  const { os, cpu, libc, license, engines } = about
  const list = (value) => (value === undefined ? undefined : [value].flat())
  return {
    version: about.version,
    integrity: about['dist.integrity'],
    cpu: list(cpu),
    dev: dev || undefined,
    libc: list(libc),
    license,
    optional: true,
    os: list(os),
    engines,
  }
}

async function complete(lock) {
  const wanted = missingPlatforms(lock)
  for (let start = 0; start < wanted.length; start += atOnce) {
    const some = wanted.slice(start, start + atOnce)
    const entries = await Promise.all(some.map(entryFor))
    for (const [index, { parent, name }] of some.entries()) {
      const top = `node_modules/${name}`
      lock.packages[top in lock.packages ? `${parent}/${top}` : top] = entries[index]
    }
  }
  const unproven = withoutIntegrity(lock)
  for (let start = 0; start < unproven.length; start += atOnce) {
    const some = unproven.slice(start, start + atOnce)
    const found = await Promise.all(some.map(published))
    for (const [index, { key }] of some.entries()) addIntegrity(lock.packages[key], found[index]?.['dist.integrity'])
  }
  const sorted = Object.entries(lock.packages).sort(([a], [b]) => a.localeCompare(b, 'en'))
  writeFileSync(file, `${JSON.stringify({ ...lock, packages: Object.fromEntries(sorted) }, null, 2)}\n`)
  console.log(
    `Added ${wanted.length} native packages of other platforms to package-lock.json; this registry has no integrity of ${withoutIntegrity(lock).length} packages.`,
  )
}

/** Sets the integrity where npm writes it: after the version. */
function addIntegrity(entry, integrity) {
  if (integrity === undefined) return
  const { version, ...others } = { ...entry }
  for (const key of Object.keys(entry)) delete entry[key]
  Object.assign(entry, { version, integrity, ...others })
}

/**
 * Returns the packages of a lock file whose content npm could not check, because the file has no integrity for them.
 * @param {{packages: Record<string, {version?: string, integrity?: string, link?: boolean, dev?: boolean}>}} lock
 * @returns {{key: string, name: string, version: string, dev: boolean}[]}
 */
export function withoutIntegrity(lock) {
  return Object.entries(lock.packages)
    .filter(([key, { integrity, link }]) => key !== '' && integrity === undefined && link !== true)
    .map(([key, { dev, version }]) => ({ key, name: key.split('node_modules/').at(-1), version, dev: dev === true }))
}

function check(lock) {
  const unproven = withoutIntegrity(lock).filter(({ dev }) => !dev)
  for (const { name, version } of unproven) console.error(`package-lock.json has no integrity of ${name}@${version}. Run npm run lock`)
  if (unproven.length > 0) process.exitCode = 1
  const missing = missingPlatforms(lock)
  if (missing.length === 0) return
  console.error(
    `package-lock.json lacks ${missing.length} native packages of other platforms, and npm ci would refuse it. Run npm run lock`,
  )
  for (const { parent, name, version } of missing) console.error(`  ${name}@${version}, a dependency of ${parent}`)
  process.exitCode = 1
}

if (process.argv[1] === import.meta.filename) {
  const lock = JSON.parse(readFileSync(file, 'utf8'))
  await (process.argv.includes('--check') ? check(lock) : complete(lock))
}
