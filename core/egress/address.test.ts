import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type AddressKind, addressKind } from './address.js'

const addresses: Readonly<Record<AddressKind, readonly string[]>> = {
  public: ['93.184.216.34', '8.8.8.8', '172.32.0.1', '100.128.0.1', '2606:4700::1111', '::ffff:8.8.8.8', '64:ff9b::808:808'],
  loopback: ['127.0.0.1', '127.255.255.254', '::1', '::ffff:127.0.0.1', '::ffff:7f00:1', '64:ff9b::7f00:1'],
  private: [
    '10.0.0.1',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '100.64.0.1',
    'fc00::1',
    'fdff::1',
    '::ffff:10.0.0.1',
    '64:ff9b::a00:1',
  ],
  metadata: [
    '169.254.169.254',
    '100.100.100.200',
    '168.63.129.16',
    'fd00:ec2::254',
    'fd00:ec2::23',
    '169.254.170.2',
    '169.254.170.23',
    'fd20:ce::254',
    'FD20:00CE:0::254',
    '::ffff:169.254.169.254',
    '64:ff9b::a9fe:a9fe',
  ],
  special: [
    '0.0.0.0',
    '0.1.2.3',
    '169.254.1.1',
    '192.0.0.1',
    '192.0.2.1',
    '198.18.0.1',
    '203.0.113.1',
    '224.0.0.1',
    '240.0.0.1',
    '255.255.255.255',
    '::',
    'fe80::1',
    'fe80::1%eth0',
    'fec0::1',
    'ff02::1',
    '2001:db8::1',
    '2001::1',
    '2002:7f00:1::',
    '2002:808:808::',
    '::7f00:1',
    '::ffff:0:7f00:1',
    '64:ff9b:1::7f00:1',
    '100::1',
    '4000::1',
    '127.1',
    '0x7f000001',
    '2130706433',
    '0177.0.0.1',
    'localhost',
    '',
  ],
}

describe('addressKind', () => {
  for (const [kind, list] of Object.entries(addresses)) {
    for (const address of list) it(`classifies ${address || 'empty text'} as ${kind}`, () => assert.equal(addressKind(address), kind))
  }
})
