//! Tests of communication in a job of one process.

use super::*;

#[test]
fn a_process_alone_is_the_case_of_one_rank() {
    let comm = Comm::Solo;
    assert_eq!((comm.rank(), comm.ranks(), comm.local_rank(), comm.local_ranks(), comm.nodes()), (0, 1, 0, 1, 1));
    let mut values = [3, 4];
    comm.all_sum(&mut values);
    comm.all_min(&mut values);
    comm.reduce_to_root(&mut values);
    assert_eq!(values, [3, 4]);
    assert_eq!([comm.any(true), comm.any(false), comm.all(true), comm.all(false)], [true, false, true, false]);
    assert_eq!(comm.all_gather(b"me"), [b"me".to_vec()]);
    assert_eq!(comm.share(100), 0..100);
    comm.send(0, b"a");
    comm.send(0, b"b");
    assert_eq!(comm.receive(), Some((0, b"a".to_vec())));
    assert_eq!(comm.receive(), Some((0, b"b".to_vec())));
    assert_eq!(comm.receive(), None);
}
