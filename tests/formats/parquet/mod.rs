//! Parquet, as pyarrow, pandas and networkx write it. The files of `tests/data/parquet` are Zachary's karate club as networkx
//! has it, 78 edges and 45 triangles (`networkx.triangles`), in three row groups of 30, 30 and 18 rows unless a name says otherwise;
//! those called `bad-` are refused. pyarrow and pandas wrote them, each with the codec, encoding or type of its name.

mod damaged;
mod jobs;
mod made;
mod read;
mod results;
