import { openRdb } from './rdb-proxy/testing/rdb.js'
import { wireContract } from './sql-wire/testing/wire-contract.js'

wireContract({
  name: 'the relational proxy',
  maxParams: 256,
  maxBodyBytes: 131_072,
  open: ({ mode, statements }) => openRdb({ env: { RDB_PROXY_MODE: mode }, statements }),
})
