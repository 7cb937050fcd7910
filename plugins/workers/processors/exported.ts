// Also runs in the threads and processes of processors: keep its imports light.

/** Names under which a module may export a processor, including `default`. */
export type ExportNames = readonly string[]

export const fileExports: ExportNames = ['ZinTrustProcessor', 'processor', 'default']
export const urlExports: ExportNames = ['ZinTrustProcessor']
export const healthCheckExports: ExportNames = ['healthCheck', 'default']

/** Returns the function that a module exports under the first matching name. */
export function exportedFunction(module: Readonly<Record<string, unknown>>, names: ExportNames): ((...args: never) => unknown) | undefined {
  // A CommonJS module compiled from ESM is imported as `default: { default: … }`.
  const inner = typeof module.default === 'object' && module.default !== null ? (module.default as Record<string, unknown>) : {}
  const candidates = [...names.map((name) => module[name]), ...names.map((name) => inner[name])]
  return candidates.find((candidate) => typeof candidate === 'function') as ((...args: never) => unknown) | undefined
}

export function missingExport(names: ExportNames): string {
  const named = names.filter((name) => name !== 'default').join(' or ')
  return `it exports no function named ${named}${names.includes('default') ? ', and no default function' : ''}`
}
