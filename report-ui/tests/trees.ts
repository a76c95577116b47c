import type { TreeNode } from "../src/types";
import { type Tree, treeOf } from "../src/tree";

/** A node whose self time and children are given, and whose total follows from them. */
export function node(name: string, selfNs: number, children: TreeNode[] = [], more: Partial<TreeNode> = {}): TreeNode {
  const coveredNs = children.reduce((sum, child) => sum + child.total_ns - child.concurrent_ns, 0);
  const totalNs = selfNs + coveredNs;
  return {
    name,
    path: name,
    total_ns: totalNs,
    self_ns: selfNs,
    concurrent_ns: 0,
    recorder_ns: 0,
    count: 1,
    sum_ns: totalNs,
    min_ns: totalNs,
    max_ns: totalNs,
    mean_ns: totalNs,
    p50_ns: totalNs,
    p90_ns: totalNs,
    p99_ns: totalNs,
    histogram: [],
    parallel: false,
    wait: false,
    call_site: null,
    windows: { width_ns: 10_000_000, counts: [], totals_ns: [] },
    children,
    ...more,
  };
}

export function tree(...children: TreeNode[]): Tree {
  const root = node("root", 0, children, { path: "", count: 0 });
  const waiting = [root];
  for (let at = waiting.pop(); at; at = waiting.pop()) {
    for (const child of at.children) {
      child.path = at.path ? `${at.path}/${child.name}` : child.name;
      waiting.push(child);
    }
  }
  return treeOf(root, { categories: [], category_of: [] });
}
