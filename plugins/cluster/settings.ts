import { defineSettings } from 'zin'

export const clusterSettings = defineSettings({
  CLUSTER_DRIVER: {
    type: 'enum',
    default: 'auto',
    values: ['auto', 'redis', 'sql', 'memory'],
    summary: 'Store of the cluster; `auto`: Redis when kv uses Redis, else SQL tables, else memory (this node only)',
  },
  CLUSTER_NAME: {
    type: 'string',
    default: '',
    pattern: '^[A-Za-z0-9_.:-]{1,100}$',
    form: '1 to 100 letters, digits, _, ., : or -',
    summary: 'Nodes with the same name form a cluster; empty: the name of the app',
  },
  CLUSTER_HEARTBEAT_MS: {
    type: 'int',
    default: 5000,
    min: 200,
    max: 60_000,
    summary: 'How often a node renews its lease, in ms; a node is lost after three times that',
  },
})
