import { attentionContract } from './attention.contract.js'

attentionContract('the embedded store', () => ({}))
