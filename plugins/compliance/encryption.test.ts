import { filesWith } from '../../scripts/testing/store-dump.js'
import { encryptionContract } from './encryption.contract.js'

encryptionContract('the embedded stores', {}, filesWith)
