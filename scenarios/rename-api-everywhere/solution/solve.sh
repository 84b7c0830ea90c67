#!/bin/sh
# The rename: two moves, then the names. getQtyLimit is set aside while the others are replaced.
set -eu
mv inventory/getqty.py inventory/stock.py
mv tests/test_getqty.py tests/test_stock.py
for file in README.md docs/api.md inventory/cli.py inventory/report.py inventory/stock.py tests/test_stock.py; do
    sed -e 's/getQtyLimit/@LIMIT@/g' \
        -e 's/class GetQty/class OnHand/' \
        -e 's/getQty/on_hand/g' \
        -e 's/GETQTY/`on_hand`/g' \
        -e 's/cli getqty/cli on-hand/; s/"getqty"/"on-hand"/g' \
        -e 's/getqty/stock/g' \
        -e 's/@LIMIT@/getQtyLimit/g' "$file" >"$file.new"
    mv "$file.new" "$file"
done
