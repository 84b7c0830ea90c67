"""Which job runs when: manifests, the pure tick, the ledger of leases."""
