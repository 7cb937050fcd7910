import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Packs the built package as it would be published; `use` gets the tarball's path, which is gone afterwards. */
export async function withTarball<T>(use: (tarball: string, folder: string) => T | Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'zin-pack-'))
  try {
    const output = execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--loglevel=error', '--pack-destination', folder], {
      encoding: 'utf8',
    })
    const [packed] = JSON.parse(output) as [{ filename: string }]
    return await use(join(folder, packed.filename), folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Unpacks a tarball of npm into `target`. */
export function unpack(tarball: string, target: string): void {
  mkdirSync(target, { recursive: true })
  execFileSync('tar', ['-xzf', tarball, '-C', target, '--strip-components=1'])
}
