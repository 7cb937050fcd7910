// Prepares a checkout so that Zin can run. Plain JavaScript without packages, because it runs before the installation.
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = dirname(dirname(fileURLToPath(import.meta.url)))
/** Contains the digest of the lock file that node_modules was installed from. */
export const installStamp = join(root, 'node_modules', '.zin-installed')
const oldest = [20, 19]

export function lockDigest() {
  return createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex')
}

/** Prints an error message for the user and exits with 1. */
export function fail(message) {
  console.error(`\n✗ ${message}`)
  process.exit(1)
}

export function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  if (major > oldest[0] || (major === oldest[0] && minor >= oldest[1])) return
  fail(
    `Zin needs Node ${oldest.join('.')} or newer; this is ${process.version} at ${process.execPath}. Get a newer one at https://nodejs.org`,
  )
}

/** Installs the packages of the lock file unless they are already installed. Returns whether it installed them. */
export function ensureInstalled() {
  const stamp = existsSync(installStamp) ? readFileSync(installStamp, 'utf8') : ''
  if (stamp === lockDigest()) return false
  console.log('Installing packages (npm ci) …')
  npm(['ci', '--no-audit', '--no-fund', '--loglevel=error'])
  return true
}

/** Whether dist is newer than every source. */
export function isBuilt() {
  const built = statSync(join(root, 'dist', 'core', 'index.d.ts'), { throwIfNoEntry: false })?.mtimeMs ?? 0
  const sources = ['core', 'plugins', 'package.json', 'tsup.config.ts', 'tsconfig.json', 'tsconfig.build.json']
  return Math.max(...sources.map((name) => newest(join(root, name)))) < built
}

/** Builds dist unless it is newer than every source. */
export function ensureBuilt({ mayFail = false } = {}) {
  if (isBuilt()) return
  console.log('Building …')
  npm(['run', '--silent', 'build'], { mayFail })
}

function newest(path) {
  const stat = statSync(path)
  if (!stat.isDirectory()) return path.endsWith('.test.ts') ? 0 : stat.mtimeMs
  return Math.max(stat.mtimeMs, ...readdirSync(path).map((name) => newest(join(path, name))))
}

function npm(args, { mayFail = false } = {}) {
  // npm passes its own path to the scripts it runs, which is the npm that the user called.
  const self = process.env.npm_execpath
  const [command, first] = self?.endsWith('.js') ? [process.execPath, [self]] : ['npm', []]
  const { status, error } = spawnSync(command, [...first, ...args], {
    cwd: root,
    stdio: 'inherit',
    shell: command === 'npm' && process.platform === 'win32',
  })
  if (status !== 0 && !mayFail) fail(`npm ${args.join(' ')} failed in ${root}${error ? `: ${error.message}` : ''}`)
}

/** Calls `end` when the parent process exits: npm forwards a signal only to its shell, which exits without forwarding it further. */
function endWithParent(end) {
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    end()
  }, 250)
  timer.unref()
}

/** Runs Node in the foreground and returns its exit code; forwards signals. */
export function runNode(args, options = {}) {
  const child = spawn(process.execPath, args, { cwd: root, stdio: 'inherit', ...options })
  // Ctrl-C reaches the child directly, because it shares the terminal; this process only waits for it to exit.
  process.on('SIGINT', () => {})
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  if (process.env.npm_lifecycle_event !== undefined) endWithParent(() => child.kill('SIGTERM'))
  return new Promise((resolve) => {
    child.once('error', (error) => fail(`cannot run ${process.execPath}: ${error.message}`))
    child.once('exit', (code, signal) => resolve(code ?? (signal === 'SIGINT' ? 130 : 1)))
  })
}
