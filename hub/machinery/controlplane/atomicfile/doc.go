// Package atomicfile replaces files atomically: readers see the old or the new content.
package atomicfile
