import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

/** Packs the built package as it would be published. Calls `use` with the path of the tarball, which is deleted afterwards. */
export async function withTarball<T>(use: (tarball: string, folder: string) => T | Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'zin-pack-'))
  try {
    return await use(packInto(folder), folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * Packs the built package into `target` and returns the path of the tarball. Its package.json omits what only a checkout can use: the
 * scripts, which refer to files that are not packed, and the development dependencies.
 */
export function packInto(target: string): string {
  const staged = mkdtempSync(join(tmpdir(), 'zin-stage-'))
  try {
    const { scripts: _scripts, devDependencies: _devDependencies, ...manifest } = JSON.parse(readFileSync('package.json', 'utf8'))
    // Packing applies the patterns of `files`; only what no package contains stays out before.
    const skipped = new Set(['node_modules', '.zin'])
    for (const pattern of (manifest.files as readonly string[]).filter((entry) => !entry.startsWith('!'))) {
      const [name = ''] = pattern.split('/')
      if (!existsSync(join(staged, name)))
        cpSync(name, join(staged, name), { recursive: true, filter: (path) => !skipped.has(basename(path)) })
    }
    writeFileSync(join(staged, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
    return npmPack(staged, target)
  } finally {
    rmSync(staged, { recursive: true, force: true })
  }
}

function npmPack(folder: string, target: string): string {
  const output = execFileSync('npm', ['pack', folder, '--json', '--ignore-scripts', '--loglevel=error', '--pack-destination', target], {
    encoding: 'utf8',
  })
  const [packed] = JSON.parse(output) as [{ filename: string }]
  return join(target, packed.filename)
}

/** Unpacks an npm tarball into `target`. */
export function unpack(tarball: string, target: string): void {
  mkdirSync(target, { recursive: true })
  execFileSync('tar', ['-xzf', tarball, '-C', target, '--strip-components=1'])
}

// npm run pack [-- <folder>]
if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) console.log(packInto(resolve(process.argv[2] ?? '.')))
