// Package atomicfile writes files that readers see either whole or not at all.
package atomicfile
