#!/bin/bash
hosts=(alpha beta)
for host in "${hosts[@]}"; do
  rsync -a /data "$host:/data/${CLUSTER}"
done
