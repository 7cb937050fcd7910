// The servers and the browser that tests use. Plain JavaScript without packages.
import { spawnSync } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fail } from './setup.mjs'

const programs = [
  { debianPackage: 'redis-server', find: () => which('redis-server') },
  { debianPackage: 'mariadb-server', find: () => which('mariadbd') && which('mariadb-install-db') },
  { debianPackage: 'chromium', find: findBrowser },
]
const browsers = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']
const macBrowsers = ['Google Chrome', 'Chromium'].map((name) => `/Applications/${name}.app/Contents/MacOS/${name}`)

/** Full path of a program, or undefined. Also searches the usual folders for servers, which are not on every PATH. */
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

/** Full path of a Chromium or Chrome, or undefined. */
export function findBrowser() {
  return browsers.map(which).find(Boolean) ?? macBrowsers.find(isExecutable)
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Installs Redis, MariaDB and Chromium if that is possible without asking; otherwise exits with instructions. */
export function ensureServers() {
  const missing = missingPackages()
  if (missing.length === 0) return
  const apt = which('apt-get')
  if (apt === undefined || process.getuid?.() !== 0) {
    fail(
      `The tests need ${missing.join(', ')}, which are not installed.\n` +
        `  Debian, Ubuntu: sudo apt-get install --no-install-recommends ${missing.join(' ')}\n` +
        '  macOS:          brew install redis mariadb && brew install --cask google-chrome\n' +
        '  Without them:   run npm run test:embedded, which covers everything that needs no server and no browser',
    )
  }
  console.log(`Installing ${missing.join(', ')} (apt-get) …`)
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  aptGet(apt, ['update', '-qq'], env)
  aptGet(apt, ['install', '-y', '-qq', '--no-install-recommends', ...missing], env)
  const left = missingPackages()
  if (left.length > 0) fail(`apt-get installed ${missing.join(', ')}, but the programs of ${left.join(', ')} were not found`)
  console.log(`Installed: ${missing.join(', ')} (Debian packages)`)
}

function missingPackages() {
  return programs.filter(({ find }) => find() === undefined).map(({ debianPackage }) => debianPackage)
}

function aptGet(apt, args, env) {
  const { status, stdout, stderr } = spawnSync(apt, args, { env, encoding: 'utf8' })
  if (status !== 0) fail(`apt-get ${args.join(' ')} failed:\n${stdout}${stderr}`)
}
