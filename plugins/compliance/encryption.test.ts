import { encryptionContract } from './encryption.contract.js'
import { filesWith } from './testing/store-dump.js'

encryptionContract('the embedded stores', {}, filesWith)
