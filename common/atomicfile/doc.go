// Package atomicfile replaces files so that, whatever happens, the old or the new one is there as a whole.
package atomicfile
