// The server programs that tests use. Plain JavaScript without packages.
import { spawnSync } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fail } from './setup.mjs'

const programs = { 'redis-server': 'redis-server', mariadbd: 'mariadb-server', 'mariadb-install-db': 'mariadb-server' }

/** Full path of a program, or undefined. Looks in the usual server folders too, which are not on every PATH. */
export function which(program) {
  const folders = [
    ...(process.env.PATH ?? '').split(delimiter),
    '/usr/local/bin',
    '/usr/sbin',
    '/usr/local/sbin',
    '/opt/homebrew/bin',
    '/opt/homebrew/sbin',
  ]
  return folders.map((folder) => join(folder, program)).find(isExecutable)
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Installs Redis and MariaDB where that is possible without a question; ends with advice where it is not. */
export function ensureServers() {
  const missing = missingPackages()
  if (missing.length === 0) return
  const apt = which('apt-get')
  if (apt === undefined || process.getuid?.() !== 0) {
    fail(
      `The tests need ${missing.join(' and ')}, which this machine lacks.\n` +
        `  Debian, Ubuntu: sudo apt-get install --no-install-recommends ${missing.join(' ')}\n` +
        '  macOS:          brew install redis mariadb\n' +
        '  Without them:   npm run test:embedded runs everything that needs no server',
    )
  }
  console.log(`Installing ${missing.join(', ')} (apt-get) …`)
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  aptGet(apt, ['update', '-qq'], env)
  aptGet(apt, ['install', '-y', '-qq', '--no-install-recommends', ...missing], env)
  const left = missingPackages()
  if (left.length > 0) fail(`apt-get installed ${missing.join(', ')}, but its programs are not found for ${left.join(', ')}`)
  console.log(`Installed: ${missing.join(', ')} (Debian packages)`)
}

function missingPackages() {
  const missing = Object.entries(programs).filter(([program]) => which(program) === undefined)
  return [...new Set(missing.map(([, debianPackage]) => debianPackage))]
}

function aptGet(apt, args, env) {
  const { status, stdout, stderr } = spawnSync(apt, args, { env, encoding: 'utf8' })
  if (status !== 0) fail(`apt-get ${args.join(' ')} failed:\n${stdout}${stderr}`)
}
