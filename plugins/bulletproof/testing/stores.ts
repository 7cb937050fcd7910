import type { Plugin } from 'zin'
import { bulletproof } from 'zin/plugins/bulletproof'
import { databaseService } from 'zin/plugins/database'
import { jwt } from 'zin/plugins/jwt'
import { type Kv, kvService } from 'zin/plugins/kv'
import { createTestHost, type FakeClock, fakeClock } from 'zin/testing'
import { chooseStores } from '../store/choose.js'
import type { DeviceStore } from '../store/devices/contract.js'
import type { NonceStore } from '../store/nonces/contract.js'

/** Stores under test, on an empty backend. */
export interface StoresUnderTest {
  readonly devices: DeviceStore
  readonly nonces: NonceStore
  readonly kv: Kv | undefined
  readonly clock: FakeClock
}

export interface StoreBackend {
  readonly driver: 'memory' | 'kv' | 'db'
  readonly plugins: () => readonly Plugin[]
  /** Whether there is also a kv. */
  readonly besideKv?: boolean
  readonly env?: Readonly<Record<string, string>>
}

/** Runs a test on fresh stores of one backend. The plugin under test is enabled for its tables. */
export async function withStores(
  { driver, plugins, env, besideKv = false }: StoreBackend,
  test: (stores: StoresUnderTest) => Promise<void>,
): Promise<void> {
  const clock = fakeClock()
  const choice = { deviceStore: driver, nonceStore: driver, tombstoneMs: 86_400_000 }
  const host = await createTestHost({
    clock,
    env: { APP_KEY: 'x'.repeat(32), ...env },
    plugins: [...plugins(), jwt(), bulletproof(choice)],
  })
  try {
    const kv = driver === 'kv' || besideKv ? host.service(kvService) : undefined
    const database = driver === 'db' ? host.service(databaseService) : undefined
    await test({ ...chooseStores({ ...choice, dataDir: host.rootDir }, () => ({ kv, database }), clock), kv, clock })
  } finally {
    await host.stop()
  }
}
